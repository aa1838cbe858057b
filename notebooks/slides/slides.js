"use strict";
// One slide at a time. The address holds the number, so that a reload stays where it is.
const slides = [...document.querySelectorAll(".slide")];
const told = document.querySelector("nav output");
let now = Math.min(slides.length, Math.max(1, Number(location.hash.slice(1)) || 1)) - 1;

function show(number, all = false) {
  now = Math.min(slides.length - 1, Math.max(0, number));
  slides.forEach((slide, place) => slide.classList.toggle("now", place === now));
  for (const part of slides[now].querySelectorAll(".fragment")) part.classList.toggle("shown", all);
  told.textContent = `${now + 1} of ${slides.length}`;
  history.replaceState(null, "", `#${now + 1}`);
  window.scrollTo(0, 0);
}

function forward() {
  const hidden = slides[now].querySelector(".fragment:not(.shown)");
  if (hidden) hidden.classList.add("shown");
  else if (now < slides.length - 1) show(now + 1);
}

function back() {
  const shown = [...slides[now].querySelectorAll(".fragment.shown")].pop();
  if (shown) shown.classList.remove("shown");
  else if (now > 0) show(now - 1, true);
}

function overview(on = !document.body.classList.contains("all")) {
  document.body.classList.toggle("all", on);
  if (on) slides[now].scrollIntoView({ block: "center" });
  else show(now);
}

const KEYS = {
  ArrowRight: forward, ArrowDown: forward, PageDown: forward, " ": forward,
  ArrowLeft: back, ArrowUp: back, PageUp: back,
  Home: () => show(0), End: () => show(slides.length - 1, true),
  n: () => document.body.classList.toggle("noted"),
  o: () => overview(), Escape: () => overview(false),
  f: () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  if (event.target.closest("button, a") && event.key === " ") return;
  event.preventDefault();
  KEYS[event.key]();
});
document.querySelectorAll("nav button").forEach((button) =>
  button.addEventListener("click", () => (button.dataset.go === "1" ? forward() : back())));
slides.forEach((slide, place) => slide.addEventListener("click", () => {
  if (!document.body.classList.contains("all")) return;
  now = place;
  overview(false);
}));
document.body.classList.add("presenting");
show(now);
