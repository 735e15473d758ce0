// Keys that vote: a class that is named by a digit has that digit, the others the first digits that are free.

// assign returns the key of each class, null where there is none, and the key of "cannot tell".
export function assign(classes) {
  const taken = new Set(classes.filter((c) => /^[0-9]$/.test(c)));
  const free = ["1", "2", "3", "4", "5", "6", "7", "8", "9"].filter((k) => !taken.has(k));
  return {
    classes: classes.map((c) => (taken.has(c) ? c : free.shift() ?? null)),
    cannotTell: taken.has("0") ? "C" : "0",
  };
}
