"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const frame = data.frame;
  const across = (x) => frame.left + x * frame.wide;
  const up = (y, [low, high]) => frame.top + ((high - y) / (high - low)) * frame.tall;
  const place = (x, y, range) => across(x).toFixed(2) + " " + up(y, range).toFixed(2);
  const unit = [0, 1];
  const show = (x) => (x === null ? "–" : Number(x).toPrecision(3));
  document.documentElement.classList.add("scripted");

  // The smooth curve at any bandwidth, from its cosine coefficients.
  const steps = 512;
  const sums = (coefficients, sigma, t) => {
    let total = coefficients[0];
    for (let k = 1; k < coefficients.length; k++) {
      const damping = Math.exp(-0.5 * (sigma * Math.PI * k) ** 2);
      if (damping < 1e-17) break;
      total += 2 * damping * coefficients[k] * Math.cos(Math.PI * k * t);
    }
    return Math.max(total, 0);
  };
  const smooth = (sigma) => {
    const points = [];
    for (let i = 0; i <= steps; i++) {
      const t = i / steps;
      const ones = sums(data.ones, sigma, t);
      const all = ones + sums(data.zeros, sigma, t);
      points.push([t, all > 1e-12 ? ones / all : null, all]);
    }
    return points;
  };
  const line = (points) => {
    let d = "";
    let pen = false;
    for (const [x, y] of points) {
      if (y === null) { pen = false; continue; }
      d += (pen ? "L" : "M") + place(x, y, unit);
      pen = true;
    }
    return d;
  };
  const slider = document.getElementById("bandwidth");
  const reading = document.getElementById("bandwidth-value");
  const part = (name) => document.getElementById(name);
  const asWritten = ["smooth-line", "density"].map((name) => [part(name), part(name).getAttribute("d")]);
  const chosen = data.smooth[0].map((t, i) => [t, data.smooth[1][i], data.smooth[2][i]]);
  const hill = (points) => {
    const peak = Math.max(...points.map((point) => point[2]));
    const top = points.map(([t, , all]) => place(t, (0.1 * all) / peak, unit));
    return "M" + place(0, 0, unit) + "L" + top.join("L") + "L" + place(1, 0, unit) + "Z";
  };
  let current = chosen;
  const redraw = () => {
    const own = Number(slider.value) === 0;  // as the page was written: the curve may be finer than what is embedded here
    const sigma = own ? data.bandwidth : data.narrowest * (data.widest / data.narrowest) ** (slider.value / 100);
    current = own ? chosen : smooth(sigma);
    if (own) for (const [node, d] of asWritten) node.setAttribute("d", d);
    else {
      part("smooth-line").setAttribute("d", line(current));
      part("density").setAttribute("d", hill(current));
    }
    for (const name of ["confidence", "consistency"]) part(name).setAttribute("visibility", own ? "visible" : "hidden");
    reading.textContent = sigma.toPrecision(3) + (own ? " (chosen by SmoothECE)" : ", without bands");
    slider.setAttribute("aria-valuetext", reading.textContent);
    slider.dataset.sigma = String(sigma);
  };
  slider.addEventListener("input", redraw);
  document.getElementById("bandwidth-reset").addEventListener("click", () => { slider.value = "0"; redraw(); });

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
  const follow = (name, points, range, words) => {
    const svg = document.getElementById(name);
    const dot = document.getElementById(name + "-dot");
    const out = document.getElementById(name + "-reading");
    let at = 0;
    const tell = (i) => {
      const list = points();
      at = Math.max(0, Math.min(list.length - 1, i));
      const point = list[at];
      if (point[1] === null) { dot.setAttribute("visibility", "hidden"); out.textContent = words(point); return; }
      dot.setAttribute("cx", across(point[0]).toFixed(2));
      dot.setAttribute("cy", up(point[1], range).toFixed(2));
      dot.setAttribute("visibility", "visible");
      out.textContent = words(point);
    };
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = (((event.clientX - box.left) / box.width) * frame.size - frame.left) / frame.wide;
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
  follow("smooth", () => current, unit, ([t, y]) => "prediction " + show(t) + ": " + (y === null ? "no rows near" : "happened " + show(y)));
  follow("cumulative", () => data.cumulative, data.range, ([share, c, score]) =>
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
