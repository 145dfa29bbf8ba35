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
  const steps = 256;
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
  let current = smooth(data.bandwidth);
  const redraw = () => {
    const sigma = Number(slider.value) === 0 ? data.bandwidth : data.narrowest * (data.widest / data.narrowest) ** (slider.value / 100);
    current = smooth(sigma);
    document.getElementById("smooth-line").setAttribute("d", line(current));
    const own = Math.abs(sigma - data.bandwidth) < 1e-12;
    document.getElementById("confidence").setAttribute("visibility", own ? "visible" : "hidden");
    reading.textContent = sigma.toPrecision(3) + (own ? " (chosen by SmoothECE)" : "");
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
      bar.setAttribute("d", "M" + place(x, low, unit) + "V" + up(high, unit).toFixed(2));
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
