// Colours: categories have theirs from the data, for light and for dark; numbers are on viridis.

const C = [[0.2777273272234177, 0.005407344544966578, 0.3340998053353061], [0.1050930431085774, 1.404613529898575, 1.384590162594685],
  [-0.3308618287255563, 0.214847559468213, 0.09509516302823659], [-4.634230498983486, -5.799100973351585, -19.33244095627987],
  [6.228269936347081, 14.17993336680509, 56.69055260068105], [4.776384997670288, -13.74514537774601, -65.35303263337234],
  [-5.435455855934631, 4.645852612178535, 26.3124352495832]];

const hex = (v) => Math.round(255 * Math.min(1, Math.max(0, v))).toString(16).padStart(2, "0");

export function viridis(t) {
  return "#" + [0, 1, 2].map((i) => hex(C.reduceRight((sum, row) => sum * t + row[i], 0))).join("");
}

const scale = Array.from({ length: 256 }, (_, i) => viridis(i / 255));

export const isDark = () => document.documentElement.dataset.theme === "dark";

// The colours of a column's codes, with that of missing values last.
export function paletteOf(column) {
  const missing = isDark() ? "#4a515a" : "#c4c8cd";
  const own = column.kind === "categorical" ? (isDark() ? column.dark : column.colors) : scale;
  return [...own, missing];
}

export const gradient = () => "linear-gradient(to right," + Array.from({ length: 17 }, (_, i) => viridis(i / 16)).join(",") + ")";

// Black or white, whichever can be read on a colour.
export function inkOn(color) {
  const [r, g, b] = [1, 3, 5].map((i) => (parseInt(color.slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
}
