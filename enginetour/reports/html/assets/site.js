// The list of games of a league: search, filters, pages of 100 games. Scripts with its lines are loaded when needed.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const PAGE = 100; // games shown together
  const RESULTS = { 1: "1-0", "=": "1/2-1/2", 0: "0-1", "*": "void" };
  const ALL = "all";
  const parts = new Map(); // "slug/number" -> part
  let names = null; // tournaments and engines
  let found = []; // the games that fit, as pairs of part and place
  let top = 0; // the first game shown

  window.siteList = ([slug, number, part]) => {
    const lower = (texts) => texts.map((text) => text.toLowerCase());
    let at = 0;
    part.ended = part.ended.map((step) => (at += step));
    part.lower = { names: lower(part.names), openings: lower(part.openings), endings: lower(part.endings) };
    part.tournament = names.tournaments.find((one) => one.slug === slug);
    parts.set(`${slug}/${number}`, part);
  };

  const scripts = (tournament) => Array.from({ length: Math.ceil(tournament.games / names.perList) }, (_, at) => at + 1);
  const wanted = () => {
    const scope = byId("scope").value;
    if (scope === ALL) return names.tournaments;
    const season = /^season-(\d+)$/.exec(scope);
    return names.tournaments.filter((one) => (season ? one.season === Number(season[1]) : one.slug === scope));
  };
  const pieces = () =>
    wanted().flatMap((one) => scripts(one).reverse().map((number) => [one.slug, number]));

  // A number for each text: whether it contains the word.
  const flags = (texts, word) => Uint8Array.from(texts, (text) => (text.includes(word) ? 1 : 0));
  const equal = (texts, text) => Uint8Array.from(texts, (one) => (!text || one === text ? 1 : 0));

  const fits = (part, asked) => {
    const one = equal(part.names, asked.one);
    const other = equal(part.names, asked.other);
    const ending = equal(part.endings, asked.ending);
    const words = asked.words.map((word) => ({
      names: flags(part.lower.names, word),
      openings: flags(part.lower.openings, word),
      endings: flags(part.lower.endings, word),
      result: Object.keys(RESULTS).find((sign) => RESULTS[sign] === word) || (word === "draw" ? "=" : ""),
    }));
    const kept = [];
    for (let at = part.white.length - 1; at >= 0; at--) {
      const white = part.white[at];
      const black = part.black[at];
      if (!((one[white] && other[black]) || (one[black] && other[white]))) continue;
      if (asked.result && part.result[at] !== asked.result) continue;
      if (!ending[part.ending[at]]) continue;
      const opening = part.opening[at];
      const isFound = words.every(
        (word) =>
          word.names[white] ||
          word.names[black] ||
          word.openings[opening] ||
          word.endings[part.ending[at]] ||
          (word.result && word.result === part.result[at]),
      );
      if (isFound) kept.push([part, at]);
    }
    return kept;
  };

  const cell = (row, text, kind = "", address = "") => {
    const made = document.createElement("td");
    if (kind) made.className = kind;
    let inner = made;
    if (address) {
      inner = document.createElement("a");
      inner.href = address;
      made.append(inner);
    }
    inner.textContent = text;
    row.append(made);
  };
  const engine = (row, name) => {
    const slug = names.engines.get(name);
    cell(row, name, "name", slug ? `engines/${slug}.html` : "");
  };
  const show = () => {
    const rows = found.slice(top, top + PAGE).map(([part, at]) => {
      const row = document.createElement("tr");
      const { tournament } = part;
      const address = `game.html#${tournament.slug}/${part.first + at}`;
      cell(row, part.first + at, "n", address);
      cell(row, `${tournament.label}, season ${tournament.season}`, "wide", `tournaments/${tournament.slug}.html`);
      engine(row, part.names[part.white[at]]);
      engine(row, part.names[part.black[at]]);
      cell(row, RESULTS[part.result[at]], "nowrap", address);
      cell(row, part.endings[part.ending[at]]);
      cell(row, part.openings[part.opening[at]], "wide");
      cell(row, Math.ceil(part.plies[at] / 2), "n wide");
      cell(row, new Date(part.ended[at] * 1000).toISOString().slice(0, 16).replace("T", " "), "nowrap wide");
      return row;
    });
    byId("game-list").tBodies[0].replaceChildren(...rows);
    const last = Math.min(found.length, top + PAGE);
    byId("shown").textContent = found.length ? `${(top + 1).toLocaleString("en")}–${last.toLocaleString("en")}` : "";
    byId("back").disabled = top === 0;
    byId("next").disabled = last === found.length;
    byId("pager").hidden = found.length <= PAGE;
    byId("found").hidden = !found.length;
  };

  const search = () => {
    const asked = {
      words: byId("words").value.toLowerCase().split(/\s+/).filter(Boolean),
      one: byId("one").value,
      other: byId("other").value,
      result: byId("result").value,
      ending: byId("ending").value,
    };
    const inside = pieces().map(([slug, number]) => parts.get(`${slug}/${number}`)).filter(Boolean);
    const total = inside.reduce((sum, part) => sum + part.white.length, 0);
    found = inside.flatMap((part) => fits(part, asked));
    top = 0;
    byId("count").textContent = `${found.length.toLocaleString("en")} of ${total.toLocaleString("en")} games`;
    show();
  };

  const fill = (id, texts) => {
    const select = byId(id);
    const before = select.value;
    select.length = 1;
    for (const text of texts) select.add(new Option(text, text));
    select.value = texts.includes(before) ? before : "";
  };
  const change = async () => {
    byId("count").textContent = "Loading …";
    const missing = pieces().filter(([slug, number]) => !parts.has(`${slug}/${number}`));
    await Promise.all(missing.map(([slug, number]) => site.load(`lists/${slug}/${String(number).padStart(4, "0")}.js`)));
    const inside = pieces().map(([slug, number]) => parts.get(`${slug}/${number}`));
    const sorted = (key) => Array.from(new Set(inside.flatMap((part) => part[key]))).sort((a, b) => a.localeCompare(b));
    fill("one", sorted("names"));
    fill("other", sorted("names"));
    fill("ending", sorted("endings"));
  };

  const begin = async () => {
    names = await site.names();
    const scope = byId("scope");
    const seasons = Array.from(new Set(names.tournaments.map((one) => one.season)));
    for (const season of seasons) {
      scope.add(new Option(`season ${season}`, `season-${season}`));
      for (const one of names.tournaments.filter((each) => each.season === season)) {
        scope.add(new Option(`season ${season}, ${one.label}`, one.slug));
      }
    }
    if (seasons.length > 1) scope.add(new Option("all seasons", ALL));
    const given = new URLSearchParams(location.hash.slice(1));
    const engines = new Map(Array.from(names.engines, ([name, slug]) => [slug, name]));
    if (given.get("t")) scope.value = given.get("t");
    else if (given.get("a") && seasons.length > 1) scope.value = ALL;
    if (!scope.value) scope.selectedIndex = 0;
    await change();
    byId("one").value = engines.get(given.get("a")) || "";
    byId("other").value = engines.get(given.get("b")) || "";
    byId("search").hidden = false;
    search();
  };

  const failed = (error) => {
    byId("count").textContent = error.message;
  };
  byId("scope").addEventListener("change", () => change().then(search, failed));
  for (const id of ["one", "other", "result", "ending"]) byId(id).addEventListener("change", search);
  byId("words").addEventListener("input", search);
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  const turn = (step) => {
    top += step;
    show();
    byId("found").scrollIntoView();
  };
  byId("back").addEventListener("click", () => turn(-PAGE));
  byId("next").addEventListener("click", () => turn(PAGE));
  window.addEventListener("hashchange", () => location.hash.includes("=") && location.reload());
  begin().catch(failed);
})();
