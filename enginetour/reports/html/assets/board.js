// Shows a game on a board and writes the lines that its engines sent in move notation.
//
// The page brings the starting position, the moves in UCI notation, and the lines as the engines sent them. This script
// knows the rules of chess, of Chess960 and of the variants that enginetour plays.
"use strict";
(() => {
  // ---- Squares and pieces ------------------------------------------------------------------------------------------
  // A square is a number from 0 (a1) to 63 (h8). A board is an array of 64 FEN letters; an empty square has "-".

  const FILES = "abcdefgh";
  const EMPTY = "-";
  const STRAIGHT = [[0, 1], [0, -1], [1, 0], [-1, 0]];
  const DIAGONAL = [[1, 1], [1, -1], [-1, 1], [-1, -1]];
  const LEAPS = [[1, 2], [2, 1], [2, -1], [1, -2], [-1, -2], [-2, -1], [-2, 1], [-1, 2]];
  const SQUARES = Array.from({ length: 64 }, (_, square) => square);

  const fileOf = (square) => square & 7;
  const rankOf = (square) => square >> 3;
  const nameOf = (square) => FILES[fileOf(square)] + (rankOf(square) + 1);
  const squareOf = (name) => FILES.indexOf(name[0]) + 8 * (Number(name[1]) - 1);
  const colored = (letter, white) => (white ? letter.toUpperCase() : letter.toLowerCase());
  const belongs = (piece, white) => piece !== EMPTY && piece < "a" === white;

  // The squares from here to the edge of the board, in steps of (files, ranks).
  const ray = (square, [files, ranks]) => {
    const found = [];
    let [file, rank] = [fileOf(square) + files, rankOf(square) + ranks];
    for (; file >= 0 && file < 8 && rank >= 0 && rank < 8; file += files, rank += ranks) found.push(rank * 8 + file);
    return found;
  };
  const near = (steps) => SQUARES.map((square) => steps.flatMap((step) => ray(square, step).slice(0, 1)));
  const rays = (steps) => SQUARES.map((square) => steps.map((step) => ray(square, step)));
  const KNIGHT_MOVES = near(LEAPS);
  const KING_MOVES = near([...STRAIGHT, ...DIAGONAL]);
  const PAWN_ATTACKERS = { white: near([[-1, -1], [1, -1]]), black: near([[-1, 1], [1, 1]]) };
  const ROOK_RAYS = rays(STRAIGHT);
  const BISHOP_RAYS = rays(DIAGONAL);

  // ---- Positions ---------------------------------------------------------------------------------------------------
  // A position is never changed: `play` makes the next one.
  //   board, white    the pieces; whether White is to move
  //   castling        the squares of the rooks that can still castle
  //   passed          the square behind a pawn that has just moved two squares, or -1
  //   hands, promoted crazyhouse: pieces in hand; squares of pieces that were pawns
  //   checks          three-check: checks given by White and by Black
  //   touched         the squares that the last move changed

  const UNROYAL = ["antichess", "giveaway", "suicide"]; // kings are ordinary pieces, and captures are compulsory
  const CHECKS_TO_WIN = 3;

  const positionOf = (fen, variant) => {
    const [placement, turn, rights, passed, ...rest] = fen.split(" ");
    const [ranks, pocket] = placement.split("[");
    const board = Array(64).fill(EMPTY);
    const promoted = [];
    ranks.split("/").forEach((letters, row) => {
      let at = (7 - row) * 8;
      for (const letter of letters) {
        if (letter === "~") promoted.push(at - 1);
        else if (/\d/.test(letter)) at += Number(letter);
        else board[at++] = letter;
      }
    });
    const house = variant === "crazyhouse";
    return {
      variant,
      board,
      white: turn !== "b",
      castling: castlingRooks(board, rights || EMPTY),
      passed: /^[a-h][36]$/.test(passed || "") ? squareOf(passed) : -1,
      hands: house ? Array.from(pocket || "").filter((letter) => /[PNBRQ]/i.test(letter)) : null,
      promoted: house ? promoted : [],
      checks: variant === "3check" ? checksGiven(rest) : null,
      touched: [],
    };
  };

  // FEN's KQkq means the outermost rook on that side (X-FEN), any other letter the rook on that file (Shredder-FEN).
  const castlingRooks = (board, rights) => {
    const found = [];
    for (const letter of rights) {
      const white = letter < "a";
      const rank = white ? 0 : 56;
      const king = board.indexOf(colored("k", white), rank);
      if (king < rank || king > rank + 7) continue;
      const rooks = SQUARES.slice(rank, rank + 8).filter((square) => board[square] === colored("r", white));
      const file = FILES.indexOf(letter.toLowerCase());
      const side = letter.toLowerCase();
      const rook =
        side === "k" ? rooks.filter((square) => square > king).pop()
        : side === "q" ? rooks.find((square) => square < king)
        : rooks.find((square) => fileOf(square) === file);
      if (rook !== undefined) found.push(rook);
    }
    return found;
  };

  // FEN has the checks that are left ("3+3") or the checks that were given ("+0+0").
  const checksGiven = (fields) => {
    for (const field of fields) {
      const counts = /^(\+?)(\d)\+(\d)$/.exec(field);
      if (counts) return counts.slice(2).map((count) => (counts[1] ? Number(count) : CHECKS_TO_WIN - count));
    }
    return [0, 0];
  };

  // ---- Moves of pieces ---------------------------------------------------------------------------------------------
  // A move is {from, to, promotion} or {drop, to}, with promotion and drop as small letters. Its effect is
  // {changes, castling}: the changed squares with their new content, and "O-O" or "O-O-O" or "".

  const attacked = (board, square, white) => {
    const [pawn, knight, bishop, rook, queen, king] = Array.from("pnbrqk", (letter) => colored(letter, white));
    if (KNIGHT_MOVES[square].some((at) => board[at] === knight)) return true;
    if (KING_MOVES[square].some((at) => board[at] === king)) return true;
    if (PAWN_ATTACKERS[white ? "white" : "black"][square].some((at) => board[at] === pawn)) return true;
    const sees = (along, slider) => {
      const first = along.find((at) => board[at] !== EMPTY);
      return first !== undefined && (board[first] === slider || board[first] === queen);
    };
    return (
      ROOK_RAYS[square].some((along) => sees(along, rook)) || BISHOP_RAYS[square].some((along) => sees(along, bishop))
    );
  };

  // Atomic chess: a king next to the other king is not in check.
  const kingAttacked = (position, board, square, white) => {
    const other = colored("k", !white);
    const connected = position.variant === "atomic" && KING_MOVES[square].some((at) => board[at] === other);
    return !connected && attacked(board, square, !white);
  };

  const slides = (board, alongs, to) =>
    alongs.some((along) => {
      const end = along.indexOf(to);
      return end >= 0 && along.slice(0, end).every((at) => board[at] === EMPTY);
    });

  const reaches = (board, from, to) => {
    const kind = board[from].toUpperCase();
    if (kind === "N") return KNIGHT_MOVES[from].includes(to);
    if (kind === "K") return KING_MOVES[from].includes(to);
    return (
      (kind !== "B" && slides(board, ROOK_RAYS[from], to)) || (kind !== "R" && slides(board, BISHOP_RAYS[from], to))
    );
  };

  const pawnChanges = (position, { from, to, promotion }) => {
    const { board, white, variant, passed } = position;
    const forward = white ? 8 : -8;
    const isLast = rankOf(to) === 0 || rankOf(to) === 7;
    const pieces = UNROYAL.includes(variant) ? "qrbnk" : "qrbn";
    if (isLast !== Boolean(promotion) || (promotion && !pieces.includes(promotion))) return null;
    const arrived = promotion ? colored(promotion, white) : board[from];
    const changes = [[from, EMPTY], [to, arrived]];
    if (fileOf(from) === fileOf(to)) {
      const home = white ? rankOf(from) <= 1 : rankOf(from) >= 6;
      const one = to === from + forward;
      const two = to === from + 2 * forward && home && board[from + forward] === EMPTY;
      return board[to] === EMPTY && (one || two) ? changes : null;
    }
    if (Math.abs(fileOf(from) - fileOf(to)) !== 1 || rankOf(to) !== rankOf(from + forward)) return null;
    if (board[to] !== EMPTY) return changes;
    return to === passed ? [...changes, [to - forward, EMPTY]] : null;
  };

  // The rook of a castling move: the king moves two squares towards it, or onto its square.
  const castlingRook = (position, { from, to }) =>
    position.castling.find(
      (rook) =>
        position.board[rook] === colored("r", position.white) &&
        rankOf(rook) === rankOf(from) &&
        (rook === to || (Math.abs(from - to) === 2 && rook > from === to > from)),
    );

  const castlingEffect = (position, king, rook) => {
    const { board, white } = position;
    const rank = king & 56;
    const short = rook > king;
    const [kingTo, rookTo] = short ? [rank | 6, rank | 5] : [rank | 2, rank | 3];
    const between = (one, other) => SQUARES.slice(Math.min(one, other), Math.max(one, other) + 1);
    const free = [...between(king, kingTo), ...between(rook, rookTo)];
    if (free.some((square) => square !== king && square !== rook && board[square] !== EMPTY)) return null;
    const changes = [[king, EMPTY], [rook, EMPTY], [kingTo, board[king]], [rookTo, board[rook]]];
    const without = board.slice();
    without[king] = EMPTY;
    const path = between(king, kingTo).filter((square) => square !== kingTo); // `legal` checks the last square
    if (path.some((square) => kingAttacked(position, without, square, white))) return null;
    return { changes, castling: short ? "O-O" : "O-O-O" };
  };

  // Atomic chess: a capture also removes the capturing piece, and all adjacent pieces except pawns.
  const exploded = (board, { from, to }, changes) => [
    ...changes.map(([square]) => [square, EMPTY]),
    ...KING_MOVES[to]
      .filter((at) => at !== from && board[at] !== EMPTY && board[at].toUpperCase() !== "P")
      .map((at) => [at, EMPTY]),
  ];

  // The effect of a move, or null if no piece can move like that. It does not check whether the king is attacked.
  const effectOf = (position, move) => {
    const { board, white, variant } = position;
    const { from, to } = move;
    if (move.drop) {
      const piece = colored(move.drop, white);
      const onEdge = move.drop === "p" && (rankOf(to) === 0 || rankOf(to) === 7);
      const can = position.hands !== null && position.hands.includes(piece) && board[to] === EMPTY && !onEdge;
      return can ? { changes: [[to, piece]], castling: "" } : null;
    }
    if (!belongs(board[from], white)) return null;
    const kind = board[from].toUpperCase();
    const rook = kind === "K" ? castlingRook(position, move) : undefined;
    if (rook !== undefined) return castlingEffect(position, from, rook);
    if (belongs(board[to], white) || (move.promotion && kind !== "P")) return null;
    let changes = [[from, EMPTY], [to, board[from]]];
    if (kind === "P") changes = pawnChanges(position, move);
    else if (!reaches(board, from, to)) changes = null;
    if (changes && variant === "atomic" && captures(position, changes)) changes = exploded(board, move, changes);
    return changes && { changes, castling: "" };
  };

  const captures = (position, changes) => changes.some(([square]) => belongs(position.board[square], !position.white));

  // ---- Legal moves -------------------------------------------------------------------------------------------------

  // The effect of a move that the rules of the variant allow, or null.
  const legal = (position, move) => {
    const { board, white, variant } = position;
    const effect = effectOf(position, move);
    if (!effect) return null;
    if (UNROYAL.includes(variant)) return captures(position, effect.changes) || !canCapture(position) ? effect : null;
    const after = board.slice();
    for (const [square, piece] of effect.changes) after[square] = piece;
    const king = after.indexOf(colored("k", white));
    const other = after.indexOf(colored("k", !white));
    if (variant === "atomic" && (king < 0 || other < 0)) return king < 0 ? null : effect;
    if (king >= 0 && kingAttacked(position, after, king, white)) return null;
    if (variant === "racingkings" && attacked(after, other, white)) return null; // checks are not allowed
    return effect;
  };

  // All moves that can be legal; promotions only to a queen.
  function* candidates(position) {
    const { board, white, hands } = position;
    for (const from of SQUARES) {
      if (!belongs(board[from], white)) continue;
      const last = board[from].toUpperCase() === "P" && rankOf(from) === (white ? 6 : 1);
      for (const to of SQUARES) yield { from, to, promotion: last ? "q" : "" };
    }
    for (const piece of new Set(hands || [])) {
      if (belongs(piece, white)) for (const to of SQUARES) yield { drop: piece.toLowerCase(), to };
    }
  }

  const canCapture = (position) => {
    for (const move of candidates(position)) {
      const effect = effectOf(position, move);
      if (effect && captures(position, effect.changes)) return true;
    }
    return false;
  };

  const canMove = (position) => {
    for (const move of candidates(position)) if (legal(position, move)) return true;
    return false;
  };

  const inCheck = (position) => {
    const { board, white, variant } = position;
    const king = UNROYAL.includes(variant) ? -1 : board.indexOf(colored("k", white));
    return king >= 0 && kingAttacked(position, board, king, white);
  };

  // The position after a legal move.
  const play = (position, move, { changes }) => {
    const { white } = position;
    const board = position.board.slice();
    for (const [square, piece] of changes) board[square] = piece;
    const touched = changes.map(([square]) => square);
    const piece = move.drop ? EMPTY : position.board[move.from];
    const kingMoved = piece.toUpperCase() === "K";
    const isDouble = piece.toUpperCase() === "P" && Math.abs(move.from - move.to) === 16;
    const fromHome = rankOf(move.from) === (white ? 1 : 6);
    const mayCastle = (rook) => !touched.includes(rook) && !(kingMoved && belongs(board[rook], white));
    const after = {
      ...position,
      board,
      white: !white,
      touched,
      castling: position.castling.filter(mayCastle),
      passed: isDouble && fromHome ? (move.from + move.to) / 2 : -1,
    };
    if (position.hands) Object.assign(after, handsAfter(position, move, changes));
    if (position.checks) {
      after.checks = position.checks.slice();
      if (inCheck(after)) after.checks[white ? 0 : 1] += 1;
    }
    return after;
  };

  // Crazyhouse: a captured piece changes sides; a promoted one becomes a pawn again.
  const handsAfter = (position, move, changes) => {
    const { board, white } = position;
    const hands = position.hands.slice();
    let promoted = position.promoted;
    if (move.drop) {
      hands.splice(hands.indexOf(colored(move.drop, white)), 1);
      return { hands, promoted };
    }
    const taken = changes.map(([square]) => square).find((square) => belongs(board[square], !white));
    if (taken !== undefined) hands.push(colored(promoted.includes(taken) ? "p" : board[taken], white));
    const arrives = move.promotion || promoted.includes(move.from);
    promoted = promoted.filter((square) => square !== taken && square !== move.from);
    return { hands, promoted: arrives ? [...promoted, move.to] : promoted };
  };

  // ---- Reading and writing moves -----------------------------------------------------------------------------------

  const UCI = /^([a-h][1-8])([a-h][1-8])([qrbnk]?)$/;
  const DROP = /^([PNBRQ]?)@([a-h][1-8])$/;
  // CECP engines use many forms of SAN: Nf3xe5, Nf3-d4, bxa8(N), e8Q, dxe6e.p.
  const SAN = /^([KQRBN]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?\(?([KQRBNqrbn])\)?)?(?:e\.?p\.?)?$/;
  const ORNAMENT = /^(?:\d*\.+|[^A-Za-z0-9]+)$/; // a word that is not a move: "12.", "...", "(-)"
  const CUT = "…"; // the end of a line that is cut
  const LONGEST_WORD = 12; // characters shown of a word that is not a move

  // The legal move of a word in a position, as {move, effect}, or null.
  const read = (position, word) => {
    const plain = word.replace(/^\d*\.+/, "").replace(/[+#!?]+$/, "");
    const tried = (move) => {
      const effect = legal(position, move);
      return effect && { move, effect };
    };
    const uci = UCI.exec(plain);
    if (uci) return tried({ from: squareOf(uci[1]), to: squareOf(uci[2]), promotion: uci[3] });
    const drop = DROP.exec(plain);
    if (drop) return tried({ drop: (drop[1] || "P").toLowerCase(), to: squareOf(drop[2]) });
    const castling = plain.replace(/[0o]/g, "O");
    if (castling === "O-O" || castling === "O-O-O") {
      const king = position.board.indexOf(colored("k", position.white));
      const rook = position.castling.find((at) => rankOf(at) === rankOf(king) && at > king === (castling === "O-O"));
      return rook === undefined ? null : tried({ from: king, to: rook, promotion: "" });
    }
    const san = SAN.exec(plain);
    if (!san) return null;
    const [, letter, file, rank, end, promotion] = san;
    const piece = colored(letter || "P", position.white);
    for (const from of SQUARES) {
      const fits = (!file || FILES[fileOf(from)] === file) && (!rank || rankOf(from) + 1 === Number(rank));
      if (position.board[from] !== piece || !fits) continue;
      const found = tried({ from, to: squareOf(end), promotion: (promotion || "").toLowerCase() });
      if (found && !found.effect.castling) return found;
    }
    return null;
  };

  // A legal move in standard algebraic notation (FIDE Laws, appendix C); `after` is the position it leads to.
  const write = (position, move, effect, after) => {
    const check = !inCheck(after) ? "" : canMove(after) ? "+" : "#";
    if (effect.castling) return effect.castling + check;
    const end = nameOf(move.to);
    if (move.drop) return `${move.drop === "p" ? "" : move.drop.toUpperCase()}@${end}${check}`;
    const kind = position.board[move.from].toUpperCase();
    const start = nameOf(move.from);
    const cross = captures(position, effect.changes) ? "x" : "";
    const promotion = move.promotion ? `=${move.promotion.toUpperCase()}` : "";
    if (kind === "P") return (cross && start[0] + cross) + end + promotion + check;
    return kind + disambiguation(position, move) + cross + end + check;
  };

  // The file or rank of a piece, or both, if another piece of its kind can move to the same square.
  const disambiguation = (position, { from, to }) => {
    const { board } = position;
    const could = (at) => board[at] === board[from] && legal(position, { from: at, to, promotion: "" });
    const others = SQUARES.filter((at) => at !== from && could(at));
    if (!others.length) return "";
    if (others.every((at) => fileOf(at) !== fileOf(from))) return nameOf(from)[0];
    return others.some((at) => rankOf(at) === rankOf(from)) ? nameOf(from) : nameOf(from)[1];
  };

  // A line as {words, positions}: in move notation as far as it is legal from the position `start`, which is missing
  // if the game itself cannot be shown. The rest of the line stays as it was sent.
  const playLine = (start, sent) => {
    const words = sent.filter((word) => word === CUT || !ORNAMENT.test(word));
    const written = [];
    const positions = [];
    let position = start;
    for (const word of words) {
      const found = position && read(position, word);
      if (!found) break;
      const after = play(position, found.move, found.effect);
      written.push(write(position, found.move, found.effect, after));
      positions.push(after);
      position = after;
    }
    const rest = words.slice(written.length).map((word) => word.slice(0, LONGEST_WORD));
    return { words: [...written, ...rest], positions };
  };

  // ---- Text for screen readers -------------------------------------------------------------------------------------

  const PIECES = { K: "King", Q: "Queen", R: "Rook", B: "Bishop", N: "Knight", P: "Pawn" };

  const describeBoard = (board) => {
    const describe = (letters) => {
      const groups = [];
      for (const letter of letters) {
        const where = board.flatMap((piece, at) => (piece === letter ? [nameOf(at)] : []));
        const word = PIECES[letter.toUpperCase()];
        if (where.length) groups.push(`${word}${where.length > 1 ? "s" : ""} ${where.join(" ")}`);
      }
      return groups.join(", ") || "no pieces";
    };
    return `White: ${describe("KQRBNP")}; Black: ${describe("kqrbnp")}`;
  };

  // "Nbxd4+" becomes "Knight b takes d4, check", since screen readers would read the letters as a word.
  const spoken = (san) => {
    const end = san.endsWith("#") ? ", checkmate" : san.endsWith("+") ? ", check" : "";
    const plain = san.replace(/[+#]/g, "");
    if (/^O-O/.test(plain)) return (plain === "O-O" ? "castles short" : "castles long") + end;
    return (
      plain
        .replace(/^[KQRBN]/, (letter) => `${PIECES[letter]} `)
        .replace("@", " drops on ")
        .replace("x", " takes ")
        .replace(/=([A-Z])/, (_, letter) => `, becomes a ${PIECES[letter]}`)
        .replace(/ +/g, " ") + end
    );
  };

  const formatClock = (ms) => {
    if (ms === null || ms === undefined) return "";
    if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
    const seconds = Math.floor(ms / 1000);
    const two = (number) => String(number).padStart(2, "0");
    const minutes = Math.floor(seconds / 60);
    const rest = two(seconds % 60);
    return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
  };

  // ---- The viewer --------------------------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  const EDGE = 45; // units of a square
  const PACE_MS = 1000; // the time of a ply in autoplay

  const show = (game) => {
    const find = (selector) => game.querySelector(selector);
    const record = JSON.parse(find("script").textContent);
    const svg = find("svg.board");
    const men = svg.querySelector(".men");
    const last = svg.querySelector(".last");
    const names = svg.querySelectorAll(".names text");
    const announced = find(".announced");
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

    const positions = [positionOf(record.fen, record.variant)];
    for (const word of record.plies.split(" ").filter(Boolean)) {
      const position = positions[positions.length - 1];
      const found = read(position, word);
      if (!found) break;
      positions.push(play(position, found.move, found.effect));
    }
    const end = positions.length - 1;
    const isWhite = (ply) => (ply % 2 === 0) === record.white; // plies are counted from 0
    const label = (ply) =>
      `${record.number + Math.floor((ply + (record.white ? 0 : 1)) / 2)}${isWhite(ply) ? "." : "…"}`;
    if (end < cells.length) {
      const remark = document.createElement("p");
      remark.className = "muted";
      remark.textContent = `The board cannot show the moves from ${label(end)} to the end of the game.`;
      game.after(remark);
    }
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
        ...position.board.flatMap((piece, at) => {
          if (piece === EMPTY) return [];
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
      svg.setAttribute("aria-label", describeBoard(position.board));
    };

    // The line of a ply, replayed when it is needed for the first time.
    const lines = [];
    const lineOf = (ply) => {
      if (lines[ply]) return lines[ply];
      const sent = (lineItems[ply] ? lineItems[ply].textContent : "").split(" ").filter(Boolean).slice(1);
      lines[ply] = playLine(positions[ply], sent);
      return lines[ply];
    };
    const fold = section.querySelector("details.lines");
    if (fold) {
      fold.addEventListener(
        "toggle",
        () => {
          lineItems.forEach((item, ply) => {
            const { words } = lineOf(ply);
            if (words.length) item.textContent = `${label(ply)} ${words.join(" ")}`;
          });
        },
        { once: true },
      );
    }

    // The newest line of each side; that of the side that has just moved is the lower one.
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
          if (at < line.positions.length) {
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
      body.querySelectorAll(".ply").forEach((one, at) => one.classList.toggle("on", at <= upTo));
      draw(line.positions[upTo]);
    };

    const sideState = (white) => {
      let ply = now - 1;
      if (ply >= 0 && isWhite(ply) !== white) ply -= 1;
      const side = white ? sides.white : sides.black;
      const cell = ply >= 0 ? cells[ply] : null;
      const score = cell && !cell.classList.contains("b") ? cell.nextElementSibling.textContent : "";
      side.querySelector(".score").textContent = score;
      side.querySelector(".clock").textContent = ply >= 0 ? formatClock(record.clocks[ply]) : "";
      side.classList.toggle("turn", now < end && isWhite(now) === white);
      const { hands, checks } = positions[now];
      if (hands) {
        const held = Array.from(colored("QRBNP", white)).flatMap((letter) => hands.filter((piece) => piece === letter));
        side.querySelector(".hand").textContent = held.join(" ").toUpperCase();
      }
      if (checks) side.querySelector(".checks").textContent = checks[white ? 0 : 1];
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
        announced.textContent = cell
          ? `${label(now - 1)} ${isWhite(now - 1) ? "White" : "Black"}: ${spoken(cell.textContent)}${score ? `, evaluation ${score}` : ""}`
          : "Start of the game";
      }
    };

    const autoplay = find('[data-to="play"]');
    const stop = () => {
      clearInterval(timer);
      timer = null;
      autoplay.textContent = "Play";
      autoplay.setAttribute("aria-pressed", "false");
    };
    const start = () => {
      if (now === end) go(0);
      timer = setInterval(() => {
        go(now + 1);
        if (now === end) stop();
      }, PACE_MS);
      autoplay.textContent = "Stop";
      autoplay.setAttribute("aria-pressed", "true");
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
      next: () => go(now + 1),
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
    const folded = game.closest("details");
    if (folded) {
      folded.addEventListener("toggle", () => {
        if (!folded.open) return;
        current = act;
        go(now, false); // a closed element has no height, so it could not scroll
      });
    }
    const wanted = /^#ply-(\d+)$/.exec(location.hash);
    go(wanted ? Number(wanted[1]) : end, Boolean(wanted));
    return act;
  };

  // ---- Keys --------------------------------------------------------------------------------------------------------

  const KEYS = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", f: "flip" };
  let current = null; // if a file has several games, keys control the one that was clicked or opened last
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
