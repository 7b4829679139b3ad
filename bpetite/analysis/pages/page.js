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
  // The token that holds a byte.
  const indexAt = ({ starts }, byte) => starts.findLastIndex((start) => start <= byte);
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
    lit = other.nodes.slice(indexAt(other, starts[node.at]), indexAt(other, starts[node.at + 1] - 1) + 1);
    for (const one of lit) one.classList.add("hl");
  }

  let shown = null; // the token that the card is about
  let keyed = false; // whether the keyboard chose it: then the card stays with it while the page scrolls
  function showCard(node) {
    shown = node;
    fillCard(node);
    light(node);
    card.hidden = false;
    place(node);
  }
  function place(node) {
    const box = node.getClientRects()[0] || node.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, innerWidth - card.offsetWidth - 8));
    const below = box.bottom + 8;
    card.style.left = left + "px";
    card.style.top = (below + card.offsetHeight > innerHeight ? box.top - card.offsetHeight - 8 : below) + "px";
  }
  function hideCard() {
    shown = null;
    card.hidden = true;
    light(null);
  }

  sheet.addEventListener("pointerover", (event) => {
    const node = tokenOf(event.target);
    keyed = false;
    if (node) showCard(node);
    else hideCard();
  });
  sheet.addEventListener("pointerleave", hideCard);
  addEventListener("scroll", () => {
    if (!shown) return;
    const { top, bottom } = shown.getBoundingClientRect();
    if (keyed && bottom > 0 && top < innerHeight) place(shown);
    else hideCard();
  }, { passive: true });
  addEventListener("resize", hideCard);

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
    keyed = false;
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
      f: () => seek("#" + node.dataset.i),
      Escape: hideCard,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    goTo(moves[event.key]());
  });
  function goTo(node) {
    if (!node) return;
    keyed = true;
    node.focus();
  }
  roam(sides[0].nodes[0]);

  function nextDifference(from) {
    const different = sides[0].nodes.filter((node) => node.classList.contains("d"));
    const at = from && from.side === 0 ? from.at : -1;
    return different.find((node) => node.at > at) || different[0];
  }
  const differ = find("differ");
  if (differ) differ.addEventListener("click", () => {
    goTo(nextDifference(current && current.classList.contains("d") ? current : null));
  });

  // Search by id: #262, or 262 40.
  const search = find("search");
  const found = find("found");
  const steps = [[find("previous"), -1], [find("next"), 1]];
  let hits = [];
  let now = -1;
  function look() {
    for (const node of hits) node.classList.remove("hit", "now");
    now = -1;
    const ids = (search.value.match(/\d+/g) || []).map((id) => String(Number(id)));
    hits = sides.flatMap(({ nodes, starts }) => nodes.map((node) => [starts[node.at], node]))
      .filter(([, node]) => ids.includes(node.dataset.i)).sort((a, b) => a[0] - b[0]).map(([, node]) => node);
    for (const node of hits) node.classList.add("hit");
    for (const [button] of steps) button.disabled = !hits.length;
    found.textContent = search.value ? (hits.length ? `${count(hits.length)} found` : "none here") : "";
  }
  function step(by) {
    if (!hits.length) return;
    if (now >= 0) hits[now].classList.remove("now");
    now = now < 0 && by < 0 ? hits.length - 1 : (now + by + hits.length) % hits.length;
    hits[now].classList.add("now");
    hits[now].scrollIntoView({ block: "center" });
    found.textContent = `${count(now + 1)} of ${count(hits.length)}`;
  }
  function seek(wanted) {
    search.value = wanted;
    look();
  }
  for (const [button, by] of steps) button.addEventListener("click", () => step(by));
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") seek("");
  });
  addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
    } else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
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
})();
