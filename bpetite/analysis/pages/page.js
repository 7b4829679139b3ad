// Hover, keyboard, search and the live summary. Without it, the page still shows all its tokens.
"use strict";
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const card = find("card");
  const sheet = find("tokens");
  // Of each side its tokens, and where their bytes start, with the end of the last one.
  const sides = data.sides.map(({ start, bytes }, number) => {
    const nodes = [...document.querySelectorAll(`.side${number} [data-i]`)];
    const starts = [start];
    nodes.forEach((node, index) => {
      node.at = index;
      node.side = number;
      starts.push(starts[index] + bytes[node.dataset.i].length / 2);
    });
    return { nodes, starts };
  });
  const count = (number) => number.toLocaleString("en");
  const tokenOf = (target) => (target instanceof Element ? target.closest("[data-i]") : null);
  const indexAt = ({ starts }, byte) => Math.max(0, starts.findIndex((start) => start > byte) - 1);
  const hexOf = (node) => data.sides[node.side].bytes[node.dataset.i];
  const spaced = (hex) => hex.replace(/(..)(?=.)/g, "$1 ");
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  // A token's text, with escapes for what cannot be seen; null if it is not whole characters.
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
    const group = node.closest(".g");
    const same = nodes.filter((one) => one.dataset.i === node.dataset.i).length;
    const lines = [
      [["b", node.dataset.i], ["code", text === null ? "part of a character" : `“${text}”`]],
      [["small", hex.length === 2 ? "byte" : "bytes"], ["code", spaced(hex.slice(0, 96)) + (hex.length > 96 ? " …" : "")]],
    ];
    if (node.classList.contains("sp")) lines[0].push(["small", "special token"]);
    if (text === null && group) lines.push([["small", `with its neighbours it makes ${group.dataset.t}`]]);
    lines.push([["small",
      `token ${count(node.at + 1)} of ${count(nodes.length)} shown · at byte ${count(starts[node.at])} · ${count(same)}× on this page`]]);
    card.replaceChildren(...lines.map((parts) => {
      const line = document.createElement("p");
      for (const [tag, content] of parts) {
        const element = document.createElement(tag);
        element.textContent = content;
        line.append(element, " ");
      }
      return line;
    }));
  }

  let lit = [];
  function light(node) {
    for (const one of lit) one.classList.remove("hl");
    lit = [];
    if (!node || sides.length < 2 || !data.aligned) return;
    const { starts } = sides[node.side];
    const other = sides[1 - node.side];
    for (let at = indexAt(other, starts[node.at]); other.starts[at] < starts[node.at + 1] && other.nodes[at]; at++) {
      lit.push(other.nodes[at]);
    }
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

  sheet.addEventListener("pointerover", (event) => {
    const node = tokenOf(event.target);
    if (node) showCard(node);
    else hideCard();
  });
  sheet.addEventListener("pointerleave", hideCard);
  addEventListener("scroll", () => { if (!tokenOf(document.activeElement)) hideCard(); }, { passive: true });

  // One token can be reached with the tab key; arrows move on from it.
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
  function vertical(node, sibling) {
    let row = node.closest(".row"), found = null;
    while (!found && (row = row[sibling])) found = row.querySelector(`.side${node.side} [data-i]`);
    return found;
  }
  sheet.addEventListener("keydown", (event) => {
    const node = tokenOf(event.target);
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const { nodes, starts } = sides[node.side];
    const moves = {
      ArrowRight: () => nodes[node.at + 1],
      ArrowLeft: () => nodes[node.at - 1],
      ArrowDown: () => vertical(node, "nextElementSibling"),
      ArrowUp: () => vertical(node, "previousElementSibling"),
      Home: () => nodes[0],
      End: () => nodes[nodes.length - 1],
      o: () => {
        const other = sides[1 - node.side];
        return other && data.aligned && other.nodes[indexAt(other, starts[node.at])];
      },
      d: () => nextDifference(node),
      Escape: hideCard,
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
    const ids = wanted.split(/[\s,]+/).filter(Boolean).map((id) => String(Number(id)));
    const forms = [hex(wanted), hex(" " + wanted)];
    const matches = byId ? (node) => ids.includes(node.dataset.i) : (node) => forms.includes(hexOf(node));
    if (wanted) for (const { nodes } of sides) hits.push(...nodes.filter(matches));
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
    if (event.key === "Enter") {
      event.preventDefault();
      if (now < 0 && event.shiftKey) now = 0;
      step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      search.value = "";
      look();
    }
  });

  // The summary follows the selection.
  const live = find("live");
  document.addEventListener("selectionchange", () => {
    live.textContent = "";
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    const element = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement);
    const end = tokenOf(element(range.startContainer)) || tokenOf(element(range.endContainer));
    const inside = sides[end ? end.side : 0].nodes.filter((node) => range.intersectsNode(node));
    if (!inside.length) return;
    const characters = [...selection.toString()].length;
    const rate = (characters / inside.length).toFixed(2);
    live.textContent = `selected: ${count(inside.length)} tokens, ${count(characters)} characters, ${rate} per token`;
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
