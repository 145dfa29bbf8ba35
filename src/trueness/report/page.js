"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const frame = data.frame;
  const unit = [0, 1];
  const across = (x, [low, high] = unit) => frame.left + ((x - low) / (high - low)) * frame.wide;
  const up = (y, [low, high]) => frame.top + ((high - y) / (high - low)) * frame.tall;
  const place = (x, y, range) => across(x, range).toFixed(2) + " " + up(y, range).toFixed(2);
  const show = (x) => (x === null ? "–" : Number(x).toPrecision(3));
  document.documentElement.classList.add("scripted");

  // The local curve at any bandwidth, from sums of neighbouring scores: a line fitted near each place.
  const curve = data.curve;
  const position = (f) => {
    if (!curve.logit) return f;
    const inside = Math.min(Math.max(f, 1e-10), 1 - 1e-10);
    return Math.log(inside) - Math.log1p(-inside);
  };
  const chosen = curve.drawn[0].map((t, i) => [t, curve.drawn[1][i]]);
  let current = chosen;
  const local = (width) => {
    const where = curve.score.map(position);
    return curve.at.map((t) => {
      const here = position(t);
      let [s0, s1, s2, e0, e1, squared] = [0, 0, 0, 0, 0, 0];
      for (let i = 0; i < where.length; i++) {
        const z = (where[i] - here) / width;
        const kernel = Math.exp(-0.5 * z * z);
        if (kernel === 0) continue;
        const distance = curve.score[i] - t;
        s0 += kernel * curve.weight[i];
        s1 += kernel * curve.weight[i] * distance;
        s2 += kernel * curve.weight[i] * distance * distance;
        e0 += kernel * curve.e[i];
        e1 += kernel * curve.e[i] * distance;
        squared += kernel * kernel * (curve.w2 ?? curve.weight)[i];
      }
      if (!(s0 * s0 >= curve.enough * squared) || squared === 0) return [t, null];
      const determinant = s0 * s2 - s1 * s1;
      const gap = determinant > 1e-10 * s0 * s2 ? (s2 * e0 - s1 * e1) / determinant : e0 / s0;
      return [t, Math.min(Math.max(t + gap, 0), 1)];
    });
  };
  const line = (points) => {
    let d = "";
    let pen = false;
    for (const [x, y] of points) {
      if (y === null) { pen = false; continue; }
      d += (pen ? "L" : "M") + place(x, y, curve.window);
      pen = true;
    }
    return d;
  };
  if (!curve.dots) {
    const slider = document.getElementById("bandwidth");
    const reading = document.getElementById("bandwidth-value");
    const path = document.getElementById("local-line");
    const asWritten = path.getAttribute("d");
    const redraw = () => {
      const own = Number(slider.value) === 50;  // the middle is the curve as the page was written
      const width = curve.bandwidth * curve.times ** (Number(slider.value) / 50 - 1);
      current = own ? chosen : local(width);
      path.setAttribute("d", own ? asWritten : line(current));
      for (const name of ["confidence", "consistency", "everywhere"])
        document.getElementById(name).setAttribute("visibility", own ? "visible" : "hidden");
      reading.textContent = width.toPrecision(3) + (curve.logit ? " in logits" : "") + (own ? " (by cross-validation)" : ", without bands");
      slider.setAttribute("aria-valuetext", reading.textContent);
      slider.dataset.width = String(width);
    };
    slider.addEventListener("input", redraw);
    document.getElementById("bandwidth-reset").addEventListener("click", () => { slider.value = "50"; redraw(); });
  }

  // Bins: the library's own figures for every number of bins on offer.
  const chooser = document.getElementById("bin-count");
  chooser.addEventListener("change", () => {
    const bins = data.bins[chooser.value];
    const group = document.getElementById("bins");
    group.replaceChildren();
    for (const [x, y, low, high] of bins.points) {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "path");
      bar.setAttribute("class", "bar");
      if (low !== null) bar.setAttribute("d", "M" + place(x, low, unit) + "V" + up(high, unit).toFixed(2));
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      mark.setAttribute("class", "mark");
      mark.setAttribute("cx", across(x).toFixed(2));
      mark.setAttribute("cy", up(y, unit).toFixed(2));
      mark.setAttribute("r", "3.5");
      group.append(bar, mark);
    }
    document.getElementById("bin-value").textContent = "ECE " + show(bins.ece);
  });

  // Read-outs under the pointer, and by arrow keys.
  const follow = (name, points, wide, range, words) => {
    const svg = document.getElementById(name);
    const dot = document.getElementById(name + "-dot");
    const out = document.getElementById(name + "-reading");
    let at = 0;
    const tell = (i) => {
      const list = points();
      at = Math.max(0, Math.min(list.length - 1, i));
      const point = list[at];
      if (point[1] === null) { dot.setAttribute("visibility", "hidden"); out.textContent = words(point); return; }
      dot.setAttribute("cx", across(point[0], wide).toFixed(2));
      dot.setAttribute("cy", up(point[1], range).toFixed(2));
      dot.setAttribute("visibility", "visible");
      out.textContent = words(point);
    };
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const share = (((event.clientX - box.left) / box.width) * frame.size - frame.left) / frame.wide;
      const x = wide[0] + share * (wide[1] - wide[0]);
      const list = points();
      let best = 0;
      for (let i = 1; i < list.length; i++) if (Math.abs(list[i][0] - x) < Math.abs(list[best][0] - x)) best = i;
      tell(best);
    });
    svg.addEventListener("keydown", (event) => {
      const jump = { ArrowRight: 1, ArrowLeft: -1, PageUp: 20, PageDown: -20 }[event.key];
      if (jump) { tell(at + jump); event.preventDefault(); }
    });
  };
  follow("local", () => current, curve.window, curve.window, ([t, y]) => "prediction " + show(t) + ": " + (y === null ? "no rows near" : "happened " + show(y)));
  follow("cumulative", () => data.cumulative, unit, data.range, ([share, c, score]) =>
    "scores up to " + show(score) + " (" + (100 * share).toFixed(1) + " % of rows): " + show(c));

  // Tables that sort.
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("th button").forEach((button, column) => {
      button.addEventListener("click", () => {
        const head = button.parentElement;
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const rows = [...body.rows].sort((a, b) => {
          const x = key(a), y = key(b);
          if (x === "" || y === "") return x === y ? 0 : x === "" ? 1 : -1;
          const order = Number.isNaN(Number(x)) || Number.isNaN(Number(y)) ? x.localeCompare(y) : Number(x) - Number(y);
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  }
})();
