// Hover, keyboard, search and the live summary. The page shows all its tokens without it.
"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const card = document.getElementById("card");
  const find = (id) => document.getElementById(id);
  const sides = data.sides.map((_, number) => {
    const nodes = [...document.querySelectorAll(`.side${number} [data-i]`)];
    const starts = new Array(nodes.length + 1);
    let at = data.sides[number].start;
    nodes.forEach((node, index) => {
      node.at = index;
      node.side = number;
      starts[index] = at;
      at += data.sides[number].bytes[node.dataset.i].length / 2;
    });
    starts[nodes.length] = at;
    return { nodes, starts };
  });
  const count = (number) => number.toLocaleString("en");
  const tokenOf = (target) => (target instanceof Element ? target.closest("[data-i]") : null);
  const hexOf = (node) => data.sides[node.side].bytes[node.dataset.i];
  const spaced = (hex) => hex.replace(/(..)(?=.)/g, "$1 ");
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  // A token's text with everything that cannot be seen written as an escape; null if it is not whole characters.
  function textOf(hex) {
    try {
      const text = utf8.decode(Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16)));
      return text.replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (one) => {
        const known = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[one];
        return known || "\\u{" + one.codePointAt(0).toString(16) + "}";
      });
    } catch {
      return null;
    }
  }

  function fillCard(node) {
    const hex = hexOf(node);
    const text = textOf(hex);
    const { nodes, starts } = sides[node.side];
    const lines = [];
    const line = (make) => {
      const p = document.createElement("p");
      make(p);
      lines.push(p);
    };
    const put = (parent, tag, text) => {
      const element = document.createElement(tag);
      element.textContent = text;
      parent.append(element, " ");
    };
    line((p) => {
      put(p, "b", node.dataset.i);
      put(p, "code", text === null ? "part of a character" : `“${text}”`);
      if (node.classList.contains("sp")) put(p, "small", "special token");
    });
    line((p) => {
      put(p, "small", hex.length === 2 ? "byte" : "bytes");
      put(p, "code", hex.length > 96 ? spaced(hex.slice(0, 96)) + " …" : spaced(hex));
    });
    if (text === null) {
      const group = node.closest(".g");
      if (group) line((p) => put(p, "small", `with its neighbours it makes ${group.dataset.t}`));
    }
    const twins = nodes.reduce((sum, one) => sum + (one.dataset.i === node.dataset.i), 0);
    line((p) => put(p, "small",
      `token ${count(node.at + 1)} of ${count(nodes.length)} shown · at byte ${count(starts[node.at])} · ${count(twins)}× on this page`));
    card.replaceChildren(...lines);
    return text;
  }

  let lit = [];
  function light(node) {
    for (const one of lit) one.classList.remove("hl");
    lit = [];
    if (!node || sides.length < 2 || !data.aligned) return;
    const { starts } = sides[node.side];
    const [from, to] = [starts[node.at], starts[node.at + 1]];
    const other = sides[1 - node.side];
    let low = 0, high = other.nodes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (other.starts[middle + 1] <= from) low = middle + 1;
      else high = middle;
    }
    for (; low < other.nodes.length && other.starts[low] < to; low++) lit.push(other.nodes[low]);
    for (const one of lit) one.classList.add("hl");
  }

  function showCard(node) {
    fillCard(node);
    light(node);
    card.hidden = false;
    const box = node.getClientRects()[0] || node.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, innerWidth - card.offsetWidth - 8));
    const below = box.bottom + 8;
    card.style.left = left + "px";
    card.style.top = (below + card.offsetHeight > innerHeight ? box.top - card.offsetHeight - 8 : below) + "px";
  }
  function hideCard() {
    card.hidden = true;
    light(null);
  }

  const sheet = find("tokens");
  sheet.addEventListener("pointerover", (event) => {
    const node = tokenOf(event.target);
    if (node) showCard(node);
    else hideCard();
  });
  sheet.addEventListener("pointerleave", hideCard);
  addEventListener("scroll", () => { if (!tokenOf(document.activeElement)) hideCard(); }, { passive: true });

  // One token is in the order of tabs; arrows move from it.
  let current = null;
  function roam(node) {
    if (!node) return;
    if (current) {
      current.tabIndex = -1;
      current.removeAttribute("aria-describedby");
      current.setAttribute("aria-selected", "false");
    }
    current = node;
    node.tabIndex = 0;
  }
  sheet.addEventListener("focusin", (event) => {
    const node = tokenOf(event.target);
    if (!node) return;
    roam(node);
    node.setAttribute("aria-describedby", "card");
    node.setAttribute("aria-selected", "true");
    showCard(node);
  });
  sheet.addEventListener("focusout", hideCard);
  sheet.addEventListener("click", (event) => {
    const node = tokenOf(event.target);
    if (node && getSelection().isCollapsed) node.focus({ preventScroll: true });
  });
  function vertical(node, step) {
    let row = node.closest(".row");
    for (;;) {
      row = step > 0 ? row.nextElementSibling : row.previousElementSibling;
      if (!row) return null;
      const found = row.querySelector(`.side${node.side} [data-i]`);
      if (found) return found;
    }
  }
  sheet.addEventListener("keydown", (event) => {
    const node = tokenOf(event.target);
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const { nodes, starts } = sides[node.side];
    const moves = {
      ArrowRight: () => nodes[node.at + 1],
      ArrowLeft: () => nodes[node.at - 1],
      ArrowDown: () => vertical(node, 1),
      ArrowUp: () => vertical(node, -1),
      Home: () => nodes[0],
      End: () => nodes[nodes.length - 1],
      o: () => {
        const other = sides[1 - node.side];
        return other && data.aligned && other.nodes[Math.max(0, other.starts.findIndex((at) => at > starts[node.at]) - 1)];
      },
      d: () => nextDifference(node),
      Escape: () => { hideCard(); return null; },
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const next = moves[event.key]();
    if (next) next.focus();
  });
  roam(sides[0].nodes[0]);

  function nextDifference(from) {
    const different = sides[0].nodes.filter((node) => node.classList.contains("d"));
    const at = from && from.side === 0 ? from.at : -1;
    return different.find((node) => node.at > at) || different[0];
  }
  const differ = find("differ");
  if (differ) differ.addEventListener("click", () => {
    const node = nextDifference(current && current.classList.contains("d") ? current : null);
    if (node) node.focus();
  });

  // Search: ids, or a token's text.
  const search = find("search");
  const found = find("found");
  let hits = [];
  let now = -1;
  function look() {
    for (const node of hits) node.classList.remove("hit", "now");
    hits = [];
    now = -1;
    const wanted = search.value;
    const byId = /^[\s,\d]+$/.test(wanted) && /\d/.test(wanted);
    const hex = (text) => Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const forms = [hex(wanted), hex(" " + wanted)];
    if (wanted) sides.forEach(({ nodes }, number) => {
      const ids = byId
        ? wanted.split(/[\s,]+/).filter(Boolean).map((id) => String(Number(id)))
        : Object.entries(data.sides[number].bytes).filter(([, bytes]) => forms.includes(bytes)).map(([id]) => id);
      hits.push(...nodes.filter((node) => ids.includes(node.dataset.i)));
    });
    for (const node of hits) node.classList.add("hit");
    found.textContent = wanted ? (hits.length ? `${count(hits.length)} found` : "none here") : "";
  }
  function step(by) {
    if (!hits.length) return;
    if (now >= 0) hits[now].classList.remove("now");
    now = (now + by + hits.length) % hits.length;
    hits[now].classList.add("now");
    hits[now].scrollIntoView({ block: "center" });
    found.textContent = `${count(now + 1)} of ${count(hits.length)}`;
  }
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); if (now < 0 && event.shiftKey) now = 0; step(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { search.value = ""; look(); }
  });

  // The summary follows the selection.
  const live = find("live");
  document.addEventListener("selectionchange", () => {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) { live.textContent = ""; return; }
    const range = selection.getRangeAt(0);
    const element = (node) => (node.nodeType === 1 ? node : node.parentElement);
    const ends = [element(range.startContainer), element(range.endContainer)].map(tokenOf);
    const side = sides[(ends[0] || ends[1] || { side: 0 }).side];
    const inside = side.nodes.filter((node) => range.intersectsNode(node));
    if (!inside.length) { live.textContent = ""; return; }
    const characters = [...selection.toString()].length;
    live.textContent = `selected: ${count(inside.length)} tokens, ${count(characters)} characters, ${(characters / inside.length).toFixed(2)} a token`;
  });

  find("ids").addEventListener("change", (event) => sheet.classList.toggle("ids", event.target.checked));
  find("marks").addEventListener("change", (event) => sheet.classList.toggle("plain", !event.target.checked));
  find("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  });
})();
