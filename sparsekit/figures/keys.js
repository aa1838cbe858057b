// Keys that are pressed within a view are the view's.  A notebook has commands on letters and arrows, also where no text is
// written: some leave the view, and some delete cells.  Escape, where the view has nothing to leave, goes back to the cell.
function keepKeys(root) {
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key === "Enter")) return;
    const cell = event.key === "Escape" ? root.parentElement?.closest("[tabindex]") : null;
    if (event.key !== "Escape" || cell) event.stopPropagation();
    cell?.focus();
  });
}
