// Returns the faults of the current page, one line each; see accessible.py for the rules.
() => {
  const found = [];
  const shown = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const words = (one) => one.outerHTML.slice(0, 120);
  if (!document.documentElement.lang) found.push("html without lang");
  if (!document.title.trim()) found.push("no title");
  const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(shown);
  if (headings.filter((one) => one.tagName === "H1").length !== 1) found.push("not one h1");
  let level = 0;
  for (const one of headings) {
    const now = Number(one.tagName[1]);
    if (now > level + 1) found.push(`heading left out before ${words(one)}`);
    if (!one.textContent.trim()) found.push(`empty ${words(one)}`);
    level = now;
  }
  if (document.querySelectorAll("main").length !== 1) found.push("not one main");
  for (const one of document.querySelectorAll("nav")) {
    if (!one.getAttribute("aria-label") && !one.getAttribute("aria-labelledby")) found.push(`nameless ${words(one)}`);
  }
  const first = document.querySelector("a[href], button, input, select, [tabindex='0']");
  if (!first || !document.querySelector(first.getAttribute("href") || "none")) found.push("no link to the content first");
  const named = (one) => {
    const by = one.getAttribute("aria-labelledby");
    const label = one.getAttribute("aria-label") || (by && by.split(" ").map((id) => document.getElementById(id)?.textContent || "").join(" "));
    const own = one.matches("input, select, textarea") ? [...(one.labels || [])].map((each) => each.textContent).join(" ") : one.textContent;
    return (label || own || one.title || "").trim();
  };
  for (const one of document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=button], [role=region], [role=img]")) {
    if (shown(one) && one.type !== "hidden" && !named(one)) found.push(`nameless ${words(one)}`);
  }
  for (const one of document.querySelectorAll("img")) {
    if (!one.hasAttribute("alt")) found.push(`no alt: ${words(one)}`);
  }
  for (const one of document.querySelectorAll("svg")) {
    if (shown(one) && one.getAttribute("role") !== "img" && one.getAttribute("aria-hidden") !== "true" && !one.closest("[role=img], [aria-hidden=true]")) found.push(`svg of no kind: ${words(one)}`);
  }
  const ids = new Set();
  for (const one of document.querySelectorAll("[id]")) {
    if (ids.has(one.id)) found.push(`twice: id ${one.id}`);
    ids.add(one.id);
  }
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const one of document.querySelectorAll(`[${name}]`)) {
      for (const id of one.getAttribute(name).split(" ")) if (!ids.has(id)) found.push(`${name} leads nowhere: ${words(one)}`);
    }
  }
  for (const one of document.querySelectorAll("th")) {
    if (!one.getAttribute("scope")) found.push(`no scope: ${words(one)}`);
  }
  for (const one of document.querySelectorAll("[tabindex]")) {
    if (Number(one.getAttribute("tabindex")) > 0) found.push(`order of focus bent: ${words(one)}`);
  }

  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const color = (text) => {
    if (!known.has(text)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = text;
      pixel.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      const found = color(getComputedStyle(at).backgroundColor);
      if (found[3] > 0) layers.push(found);
      if (found[3] === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, top) => over(top, below), dark ? [18, 18, 18] : [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const told = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const one = text.parentElement;
    if (!text.textContent.trim() || one.closest("svg, script, style, noscript, .skip") || !shown(one)) continue;
    const style = getComputedStyle(one);
    const back = behind(one);
    const [high, low] = [light(over(color(style.color), back)), light(back)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const wanted = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = (high + 0.05) / (low + 0.05);
    const key = `${style.color} ${back} ${wanted}`;
    if (ratio < wanted && !told.has(key)) {
      told.add(key);
      found.push(`contrast ${ratio.toFixed(2)}: ${words(one)}`);
    }
  }
  return found;
}
