// Everything works without this script; with it, sliders, patches and keys answer at once.
"use strict";

// Sliders and filters: fetch only the rows, and keep the address of the page in step.
for (const form of document.querySelectorAll("form[data-live]")) {
  let timer = 0, last = 0;
  const show = async () => {
    const asked = new URLSearchParams(new FormData(form));
    for (const [name, value] of [...asked]) {
      const input = form.elements[name];
      const rest = input && input.type === "range" && [...document.querySelectorAll("output")].length && input.defaultValue === value && !new URLSearchParams(location.search).has(name);
      if (value === "" || rest) asked.delete(name);
    }
    const mine = ++last;
    const shown = form.action + (asked.size ? "?" + asked : "");
    asked.set("part", "rows");
    const answer = await fetch(form.action + "?" + asked);
    if (!answer.ok || mine !== last) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== last) return;
    document.getElementById("rows").replaceChildren(...page.body.childNodes);
    history.replaceState(null, "", shown);
    const judge = form.querySelector("[data-judge]");
    if (judge) {
      asked.delete("part");
      asked.set("detector", new URL(form.action).pathname.split("/")[1]);
      judge.href = "/judge?" + asked;
    }
  };
  form.addEventListener("input", (event) => {
    if (event.target.type === "range") {
      const output = form.querySelector(`output[for="${event.target.id}"]`);
      if (output) output.textContent = String(+(+event.target.value).toPrecision(3));
    }
    clearTimeout(timer);
    timer = setTimeout(show, event.target.type === "range" ? 30 : 200);
  });
}

// Patches: the source side by side, at the place the patch was taken from.
const twin = document.getElementById("twin");
const showPatch = async (patch) => {
  const answer = await fetch(patch.dataset.text);
  const found = await answer.json();
  const target = document.getElementById("source-text");
  const mark = document.createElement("mark");
  mark.className = [...patch.classList].find((name) => /^s\d$/.test(name)) || "";
  const [before, after] = [document.createElement("span"), document.createElement("span")];
  if (found.problem) {
    before.textContent = found.problem;
  } else {
    before.textContent = found.before;
    mark.textContent = found.copied;
    after.textContent = found.after;
  }
  target.replaceChildren(before, mark, after);
  const link = document.getElementById("source-url");
  link.firstElementChild.textContent = found.url || "";
  link.href = "/page?" + new URLSearchParams({ url: found.url || "" });
  document.getElementById("source").hidden = false;
  twin.classList.add("open");
  for (const other of twin.querySelectorAll(".patch.chosen")) other.classList.remove("chosen");
  patch.classList.add("chosen");
  bringInto(target, mark);
  const cloth = patch.closest(".cloth");
  if (patch.offsetTop < cloth.scrollTop || patch.offsetTop > cloth.scrollTop + cloth.clientHeight) bringInto(cloth, patch);
};
const bringInto = (box, inner) => {
  const delta = inner.getBoundingClientRect().top - box.getBoundingClientRect().top;
  box.scrollTop += delta - box.clientHeight / 3;
};
if (twin) {
  twin.addEventListener("click", (event) => {
    const place = event.target.closest("[data-patch]");
    if (!place || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const patch = document.getElementById("patch-" + place.dataset.patch);
    if (patch) showPatch(patch);
  });
  const light = (event) => {
    const patch = event.target.closest(".patch");
    for (const other of twin.querySelectorAll(".patch.lit")) other.classList.remove("lit");
    if (patch) for (const same of twin.querySelectorAll(`.patch[data-source="${patch.dataset.source}"]`)) same.classList.add("lit");
  };
  twin.addEventListener("mouseover", light);
  twin.addEventListener("focusin", light);
  const mark = document.querySelector("#source-text mark");
  if (mark) bringInto(document.getElementById("source-text"), mark);
}

// The likely cause: asked for at once where it is quick, else by a click.
const cause = document.getElementById("cause");
const ask = async () => {
  cause.textContent = "Looking through the corpus …";
  const answer = await fetch(cause.dataset.why);
  cause.textContent = answer.ok ? (await answer.json()).cause : "The cause could not be found out.";
};
if (cause && cause.hasAttribute("data-now")) ask();
else if (cause) {
  const link = cause.querySelector("[data-ask]");
  if (link) link.addEventListener("click", (event) => { event.preventDefault(); ask(); });
}

// The tree of neighborhoods: children come when a branch is opened.
document.addEventListener("toggle", async (event) => {
  const branch = event.target;
  if (!branch.open || !branch.dataset || !branch.dataset.children) return;
  const address = branch.dataset.children;
  delete branch.dataset.children;
  const answer = await fetch(address);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  branch.append(...page.body.childNodes);
}, true);

// Keys of the judging tool; not while someone writes.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writes = event.target.closest("input, textarea, select");
  if (writes) {
    if (event.key === "Escape") writes.blur();
    if (event.key === "Enter" && writes.closest(".verdict")) { event.preventDefault(); writes.blur(); }
    return;
  }
  const found = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!found || found.disabled) return;
  event.preventDefault();
  if (found.tagName === "BUTTON") { if (!document.body.dataset.sent) { document.body.dataset.sent = "yes"; found.click(); } }
  else found.focus();
});
