"use strict";
// Everything can be read without this: it only sorts tables, filters long ones, and turns the light off.
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "light" : "dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  name();

  // On paper nothing can be opened.
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });

  const key = (row, place) => {
    const cell = row.cells[place];
    const given = cell.dataset.key === undefined ? cell.textContent : cell.dataset.key;
    const number = Number(given);
    return given !== "" && !Number.isNaN(number) ? number : given;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    if (body.rows.length < 2) continue;
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numbers = head.classList.contains("n");
        const now = head.getAttribute("aria-sort");
        const next = now ? (now === "ascending" ? "descending" : "ascending") : (numbers ? "descending" : "ascending");
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        body.append(...[...body.rows].sort((a, b) => sign * compare(key(a, place), key(b, place))));
      });
    });
    if (body.rows.length < 12) continue;
    const filter = document.createElement("input");
    filter.type = "search";
    filter.className = "filter";
    filter.placeholder = "Filter " + body.rows.length + " rows";
    filter.setAttribute("aria-label", filter.placeholder);
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(filter);
  }
})();
