// Shows one game of a league: the fragment of the address is the tournament and the number of the game. The script fills
// the page with the game, and board.js then replays it.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const STEEPNESS = 0.00368208; // of expected points by centipawns, as in reports/html/game.py
  const MARKS = [-500, -200, 0, 200, 500];
  let names = null;
  let packed = "";

  window.siteGames = (given) => {
    packed = given;
  };

  const unpacked = async () => {
    if (!window.DecompressionStream) throw new Error("This browser is too old to show games.");
    const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  const element = (name, attributes = {}, ...inside) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const shape = (name, attributes = {}, ...inside) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const engine = (name) => {
    const slug = names.engines.get(name);
    return slug ? element("a", { href: `engines/${slug}.html` }, name) : name;
  };

  // Moves. A game has a list for each of: UCI, SAN, time, clock, score, depth, book, line.
  const isWhite = (game, ply) => (ply % 2 === 0) === game.whiteBegins;
  const label = (game, ply) => {
    const number = game.first + Math.floor((ply + (game.whiteBegins ? 0 : 1)) / 2);
    return `${number}${isWhite(game, ply) ? "." : "…"}`;
  };
  // As `format_score` in reports/pgn.py: a mate in n moves has the score 32000 - n.
  const formatScore = (score) => {
    const size = Math.abs(score);
    const text = size >= 31000 && size <= 32000 ? `M${32000 - size}` : (Math.min(size, 100000) / 100).toFixed(2);
    return (score < 0 ? "-" : "+") + text;
  };
  const formatTime = (ms) => {
    if (ms < 60000) return (ms / 1000).toFixed(2);
    return `${Math.floor(ms / 60000)}:${String(Math.floor((ms / 1000) % 60)).padStart(2, "0")}`;
  };
  const cells = (game, ply) => {
    const [, san, elapsed, , score, depth, book] = game.moves;
    if (book[ply]) {
      return [element("td", { class: "m b" }, san[ply]), element("td", { class: "b" }, "book"), element("td"), element("td")];
    }
    const own = score[ply] === null ? "" : formatScore(isWhite(game, ply) ? score[ply] : -score[ply]);
    const time = formatTime(elapsed[ply]);
    return [
      element("td", { class: "m" }, san[ply]),
      element("td", {}, own),
      element("td", {}, depth[ply] === null ? "" : String(depth[ply])),
      element("td", {}, time),
    ];
  };
  const moveRows = (game) => {
    const all = game.moves[0].map((_, ply) => cells(game, ply));
    const empty = () => [1, 2, 3, 4].map(() => element("td"));
    if (all.length && !game.whiteBegins) all.unshift(empty());
    if (all.length % 2) all.push(empty());
    const rows = [];
    for (let at = 0; at < all.length; at += 2) {
      const head = element("th", { scope: "row" }, String(game.first + at / 2));
      rows.push(element("tr", {}, head, ...all[at], ...all[at + 1]));
    }
    return rows;
  };

  // The graph of both evaluations: a line for each side, with gaps.
  const height = (score) => 200 / (1 + Math.exp(-STEEPNESS * Math.max(-3000, Math.min(3000, score)))) - 100;
  const graph = (game) => {
    const plies = Math.max(1, game.moves[0].length);
    const runs = { w: [[]], b: [[]] };
    game.moves[4].forEach((score, ply) => {
      const side = runs[isWhite(game, ply) ? "w" : "b"];
      if (score === null) side.push([]);
      else side[side.length - 1].push(`${ply + 1},${-height(isWhite(game, ply) ? score : -score)}`);
    });
    const lines = Object.entries(runs).flatMap(([side, own]) =>
      own.filter((run) => run.length).map((run) =>
        shape("polyline", { class: side, points: (run.length > 1 ? run : [run[0], run[0]]).join(" ") }),
      ),
    );
    if (!lines.length) return [];
    const box = { width: "100%", height: "100%", viewBox: `0 -100 ${plies} 200`, preserveAspectRatio: "none" };
    const book = game.moves[6].findIndex((own) => !own);
    const shade = shape("rect", { class: "book", x: 0, y: -100, width: Math.max(0, book), height: 200 });
    const grid = shape("g", { class: "grid" });
    const marks = shape("g", { class: "marks", "aria-hidden": "true" });
    for (const mark of MARKS) {
      const y = `${50 - height(mark) / 2}%`;
      grid.append(shape("line", { x1: 0, x2: "100%", y1: y, y2: y }));
      marks.append(shape("text", { x: 0, y, dy: "-.25em" }, mark ? `${mark > 0 ? "+" : ""}${mark / 100}` : "0"));
    }
    const title = "Evaluations of both engines, from White's point of view, in pawns";
    const drawn = shape(
      "svg",
      { class: "graph evals", role: "img", "aria-label": title, "data-plies": plies },
      shape("svg", box, shade),
      grid,
      shape("svg", { class: "plot", ...box }, ...lines),
      marks,
    );
    const key = element("span", { class: "key" }, element("span", { class: "w" }, "White"), " ", element("span", { class: "b" }, "Black"));
    return [element("h2", { class: "small" }, "Evaluation ", key), drawn];
  };

  const fill = (game, tournament) => {
    byId("white").append(engine(game.white));
    byId("black").append(engine(game.black));
    byId("result").textContent = { "1-0": "1–0", "0-1": "0–1", "1/2-1/2": "½–½" }[game.result] || "void";
    byId("how").textContent = `${game.ending}.`;
    const when = game.began ? `, ${new Date(game.began * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC` : "";
    const where = element("a", { href: `tournaments/${tournament.slug}.html` }, tournament.title);
    byId("which").append(where, `, game ${game.number}${when}`);
    const go = (number, text) => element("a", { href: `#${tournament.slug}/${number}` }, text);
    if (game.number > 1) byId("go").append(go(game.number - 1, "previous"));
    byId("go").append(element("a", { href: `games.html#t=${tournament.slug}` }, "all games"));
    if (game.number < tournament.games) byId("go").append(go(game.number + 1, "next"));
    document.title = `${game.white} – ${game.black}, game ${game.number} · ${tournament.title}`;
    document.querySelector(".side.white .who").append(engine(game.white));
    document.querySelector(".side.black .who").append(engine(game.black));
    if (game.variant === "3check") {
      for (const hand of document.querySelectorAll(".side .hand")) {
        hand.before(element("span", { class: "checks", title: "checks given" }));
      }
    }
    byId("graphs").append(...graph(game));
    document.querySelector(".moves tbody").append(...moveRows(game));
    const { variant, fen, whiteBegins, first } = game;
    const plies = game.moves[0].join(" ");
    const record = { variant, fen, white: whiteBegins, number: first, plies, clocks: game.moves[3] };
    byId("record").textContent = JSON.stringify(record);
    byId("facts").append(...game.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
    const lines = game.moves[7];
    if (lines.some(Boolean)) {
      const items = lines.map((line, ply) => (line ? element("li", {}, `${label(game, ply)} ${line}`) : element("li")));
      byId("lines").querySelector("ol").append(...items);
      byId("lines").hidden = false;
    }
    byId("whole").hidden = false;
  };

  const begin = async () => {
    names = await site.names();
    const asked = /^#([a-z0-9._-]+)\/([1-9]\d*)$/.exec(location.hash);
    const tournament = asked && names.tournaments.find((one) => one.slug === asked[1]);
    if (!tournament || Number(asked[2]) > tournament.games) throw new Error("This game is not on this site.");
    const part = String(Math.ceil(Number(asked[2]) / names.perScript)).padStart(4, "0");
    await site.load(`games/${tournament.slug}/${part}.js`);
    const game = (await unpacked()).find((one) => one.number === Number(asked[2]));
    if (!game) throw new Error("The moves of this game are not on this site.");
    fill(game, tournament);
    await site.load("assets/board.js");
  };
  window.addEventListener("hashchange", () => location.hash.includes("/") && location.reload());
  begin().catch((error) => {
    byId("problem").textContent = error.message;
    byId("problem").hidden = false;
  });
})();
