// Steps through a game. The page brings what each ply changes on the board; nothing here knows a rule.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const EDGE = 45;
  const PACE_MS = 1000; // a ply of autoplay
  const WORDS = { K: "King", Q: "Queen", R: "Rook", B: "Bishop", N: "Knight", P: "Pawn" };
  const CHANGE = /([a-h])([1-8])(?:([a-h])([1-8])|([A-Za-z-]))/g;
  const square = (file, rank) => "abcdefgh".indexOf(file) + 8 * (rank - 1);

  const changed = (squares, words) => {
    const after = squares.slice();
    const touched = [];
    for (const [, file, rank, toFile, toRank, piece] of words.matchAll(CHANGE)) {
      const at = square(file, rank);
      touched.push(at);
      if (piece) {
        after[at] = piece;
      } else {
        const to = square(toFile, toRank);
        after[to] = after[at];
        after[at] = "-";
        touched.push(to);
      }
    }
    return { squares: after, touched };
  };

  const inWords = (squares) => {
    const told = (letters) => {
      const groups = [];
      for (const letter of letters) {
        const where = squares.flatMap((piece, at) => (piece === letter ? ["abcdefgh"[at & 7] + ((at >> 3) + 1)] : []));
        const word = WORDS[letter.toUpperCase()];
        if (where.length) groups.push(`${word}${where.length > 1 ? "s" : ""} ${where.join(" ")}`);
      }
      return groups.join(", ") || "nothing";
    };
    return `White: ${told("KQRBNP")}; Black: ${told("kqrbnp")}`;
  };

  // "Nbxd4+" becomes "Knight b takes d4, check": letters alone are read out as a word.
  const spoken = (san) => {
    const end = san.endsWith("#") ? ", checkmate" : san.endsWith("+") ? ", check" : "";
    const plain = san.replace(/[+#]/g, "");
    if (/^O-O/.test(plain)) return (plain === "O-O" ? "castles short" : "castles long") + end;
    return (
      plain
        .replace(/^[KQRBN]/, (letter) => `${WORDS[letter]} `)
        .replace("@", " drops on ")
        .replace("x", " takes ")
        .replace(/=([A-Z])/, (_, letter) => `, becomes a ${WORDS[letter]}`)
        .replace(/ +/g, " ") + end
    );
  };

  const clockWords = (ms) => {
    if (ms === null || ms === undefined) return "";
    if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
    const seconds = Math.floor(ms / 1000);
    const two = (number) => String(number).padStart(2, "0");
    const minutes = Math.floor(seconds / 60);
    const rest = two(seconds % 60);
    return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
  };

  const show = (game) => {
    const find = (selector) => game.querySelector(selector);
    const told = JSON.parse(find("script").textContent);
    const svg = find("svg.board");
    const men = svg.querySelector(".men");
    const last = svg.querySelector(".last");
    const names = svg.querySelectorAll(".names text");
    const said = find(".said");
    const expects = find(".expects");
    const list = find(".list");
    const cells = Array.from(game.querySelectorAll(".moves td.m"));
    const section = game.parentElement;
    const lineItems = Array.from(section.querySelectorAll(".lines li"));
    const sides = { white: find(".side.white"), black: find(".side.black") };
    const graphs = Array.from(game.querySelectorAll(".graph"), (graph) => {
      const plot = graph.querySelector(".plot");
      const box = plot.viewBox.baseVal;
      const cursor = document.createElementNS(SVG, "line");
      cursor.setAttribute("class", "cursor");
      cursor.setAttribute("y1", box.y);
      cursor.setAttribute("y2", box.y + box.height);
      plot.append(cursor);
      return { graph, cursor, plies: Number(graph.dataset.plies) };
    });

    const positions = [{ squares: Array.from(told.start), touched: [] }];
    for (const words of told.plies.split(" ").filter(Boolean)) {
      positions.push(changed(positions[positions.length - 1].squares, words));
    }
    const end = positions.length - 1;
    const isWhite = (ply) => (ply % 2 === 0) === told.white; // plies from 0
    const label = (ply) =>
      `${told.number + Math.floor((ply + (told.white ? 0 : 1)) / 2)}${isWhite(ply) ? "." : "…"}`;
    let now = end;
    let flipped = false;
    let timer = null;
    let drawn = positions[end];

    const missing = Object.keys(window.chessPieces || {}).filter((letter) => !document.getElementById(`piece-${letter}`));
    if (missing.length) {
      const defs = document.createElementNS(SVG, "defs");
      defs.innerHTML = missing.map((letter) => window.chessPieces[letter]).join("");
      svg.prepend(defs);
    }

    const place = (element, at) => {
      const file = at & 7;
      const rank = at >> 3;
      element.setAttribute("x", (flipped ? 7 - file : file) * EDGE);
      element.setAttribute("y", (flipped ? rank : 7 - rank) * EDGE);
      return element;
    };
    const draw = (position) => {
      drawn = position;
      men.replaceChildren(
        ...position.squares.flatMap((piece, at) => {
          if (piece === "-") return [];
          const use = document.createElementNS(SVG, "use");
          use.setAttribute("href", `#piece-${piece}`);
          return [place(use, at)];
        }),
      );
      last.replaceChildren(
        ...position.touched.map((at) => {
          const mark = document.createElementNS(SVG, "rect");
          mark.setAttribute("width", EDGE);
          mark.setAttribute("height", EDGE);
          return place(mark, at);
        }),
      );
      svg.setAttribute("aria-label", inWords(position.squares));
    };

    const lineOf = (ply) => {
      const words = (lineItems[ply] ? lineItems[ply].textContent : "").split(" ").slice(1);
      return { ply, words, changes: (told.lines[ply] || "").split(" ").filter(Boolean) };
    };
    // The newest line of each side, the one that has just moved below the other.
    const expect = () => {
      const parts = [];
      for (const ply of [now - 2, now - 1]) {
        const line = ply >= 0 ? lineOf(ply) : null;
        if (!line || !line.words.length) continue;
        const head = document.createElement("dt");
        head.textContent = `${isWhite(ply) ? "White" : "Black"} expected at ${label(ply)}`;
        const body = document.createElement("dd");
        body.dir = "ltr";
        line.words.forEach((word, at) => {
          const one = document.createElement("span");
          one.textContent = word;
          if (at < line.changes.length) {
            one.className = "ply";
            one.addEventListener("mouseenter", () => preview(body, line, at));
            one.addEventListener("click", () => {
              stop();
              preview(body, line, at);
            });
          }
          body.append(one, " ");
        });
        body.addEventListener("mouseleave", () => {
          for (const one of body.querySelectorAll(".on")) one.classList.remove("on");
          draw(positions[now]);
        });
        parts.push(head, body);
      }
      expects.replaceChildren(...parts);
      expects.hidden = !parts.length;
    };
    const preview = (body, line, upTo) => {
      let position = positions[line.ply];
      for (const words of line.changes.slice(0, upTo + 1)) position = changed(position.squares, words);
      body.querySelectorAll(".ply").forEach((one, at) => one.classList.toggle("on", at <= upTo));
      draw(position);
    };

    const sideState = (white) => {
      let ply = now - 1;
      if (ply >= 0 && isWhite(ply) !== white) ply -= 1;
      const side = white ? sides.white : sides.black;
      const cell = ply >= 0 ? cells[ply] : null;
      const score = cell && !cell.classList.contains("b") ? cell.nextElementSibling.textContent : "";
      side.querySelector(".score").textContent = score;
      side.querySelector(".clock").textContent = ply >= 0 ? clockWords(told.clocks[ply]) : "";
      side.classList.toggle("turn", now < end && isWhite(now) === white);
      if (told.hands) {
        const mine = Array.from(told.hands[now]).filter((letter) => (letter === letter.toUpperCase()) === white);
        side.querySelector(".hand").textContent = mine.join(" ").toUpperCase();
      }
      if (told.checks) side.querySelector(".checks").textContent = told.checks[now][white ? 0 : 1];
    };

    const go = (ply, speak = true) => {
      now = Math.max(0, Math.min(end, ply));
      draw(positions[now]);
      cells.forEach((cell, at) => cell.classList.toggle("on", at === now - 1));
      const cell = cells[now - 1];
      if (!cell) {
        list.scrollTop = 0;
      } else {
        const top = cell.getBoundingClientRect().top - list.getBoundingClientRect().top;
        const head = game.querySelector(".moves thead").offsetHeight;
        if (top < head || top > list.clientHeight - 2 * head) list.scrollTop += top - list.clientHeight / 2;
      }
      for (const { cursor, plies } of graphs) {
        const x = Math.min(now, plies);
        cursor.setAttribute("x1", x);
        cursor.setAttribute("x2", x);
      }
      sideState(true);
      sideState(false);
      expect();
      if (speak) {
        const score = cell && !cell.classList.contains("b") ? cell.nextElementSibling.textContent : "";
        said.textContent = cell
          ? `${label(now - 1)} ${isWhite(now - 1) ? "White" : "Black"}: ${spoken(cell.textContent)}${score ? `, evaluation ${score}` : ""}`
          : "Start of the game";
      }
    };

    const play = find('[data-to="play"]');
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
      play.setAttribute("aria-pressed", "false");
    };
    const start = () => {
      if (now === end) go(0);
      timer = setInterval(() => {
        go(now + 1);
        if (now === end) stop();
      }, PACE_MS);
      play.textContent = "Stop";
      play.setAttribute("aria-pressed", "true");
    };
    const flip = () => {
      flipped = !flipped;
      draw(drawn);
      names.forEach((name, at) => {
        const step = at % 8;
        name.textContent = at < 8 ? "abcdefgh"[flipped ? 7 - step : step] : flipped ? step + 1 : 8 - step;
      });
      svg.before(flipped ? sides.white : sides.black);
      svg.after(flipped ? sides.black : sides.white);
    };
    const moves = {
      first: () => go(0),
      back: () => go(now - 1),
      on: () => go(now + 1),
      last: () => go(end),
    };
    const act = (to) => {
      current = act;
      if (to === "play") return timer ? stop() : start();
      if (to === "flip") return flip();
      stop();
      return moves[to]();
    };

    const controls = find(".controls");
    controls.hidden = false;
    controls.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) act(button.dataset.to);
    });
    game.querySelector(".moves").addEventListener("click", (event) => {
      const at = cells.indexOf(event.target.closest("td.m"));
      if (at < 0) return;
      current = act;
      stop();
      go(at + 1);
    });
    for (const { graph, plies } of graphs) {
      graph.classList.add("live");
      graph.addEventListener("click", (event) => {
        const box = graph.getBoundingClientRect();
        current = act;
        stop();
        go(Math.round(((event.clientX - box.left) / box.width) * plies));
      });
    }
    game.classList.add("live");
    const fold = game.closest("details");
    if (fold) {
      fold.addEventListener("toggle", () => {
        if (!fold.open) return;
        current = act;
        go(now, false); // what is folded has no height to scroll in
      });
    }
    const wanted = /^#ply-(\d+)$/.exec(location.hash);
    go(wanted ? Number(wanted[1]) : end, Boolean(wanted));
    return act;
  };

  const KEYS = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", f: "flip" };
  let current = null; // where a file has several games, keys go to the one that was touched or unfolded last
  const all = Array.from(document.querySelectorAll(".game"), show);
  document.addEventListener("keydown", (event) => {
    const to = KEYS[event.key];
    const elsewhere = event.target.closest("input, select, textarea, pre, summary");
    const game = current || (all.length === 1 ? all[0] : null);
    if (!to || !game || elsewhere || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    game(to);
  });
})();
