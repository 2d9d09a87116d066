// The page's data: JSON with packed arrays (zlib, base64), and one packed block a gene, unpacked when wanted.

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function unpack(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

export function readData() {
  const data = JSON.parse(document.getElementById("comp-data").textContent);
  if (data.format !== 2) throw new Error("the data of this page is of another version (" + data.format + ")");
  return data;
}

// Whether each label is in one condition only: then scores of mixing and of predictions have no meaning.
export const isConfounded = (data) => data.findings.some((f) => f.id === "confounded" && f.numbers?.share === 1);

const MISSING = 65535;

export class Store {
  constructor(data) {
    this.data = data;
    this.cache = new Map();
  }

  once(key, make) {
    if (!this.cache.has(key)) this.cache.set(key, make());
    return this.cache.get(key);
  }

  // Coordinates in -1 .. 1.
  map(index) {
    return this.once("map" + index, async () => {
      const values = new Uint16Array(await unpack(this.data.maps[index].data));
      const n = values.length / 2;
      const x = new Float32Array(n);
      const y = new Float32Array(n);
      for (let i = 0; i < n; i++) {
        x[i] = ((values[i] / 65535) * 2 - 1) * 0.94;
        y[i] = ((values[n + i] / 65535) * 2 - 1) * 0.94;
      }
      return { x, y };
    });
  }

  // What to colour by: codes 0 .. levels - 1 of categories, 0 .. 255 of numbers; the code after the last means missing.
  column(index) {
    return this.once("column" + index, async () => {
      const column = this.data.columns[index];
      const raw = new Uint16Array(await unpack(column.data));
      const codes = new Uint16Array(raw.length);
      const categorical = column.kind === "categorical";
      const last = categorical ? column.levels.length : 256;
      for (let i = 0; i < raw.length; i++) codes[i] = raw[i] === MISSING ? last : categorical ? raw[i] : Math.round((raw[i] / 65534) * 255);
      const value = (i) => {
        if (raw[i] === MISSING) return null;
        return categorical ? column.levels[raw[i]] : column.min + ((column.max - column.min) * raw[i]) / 65534;
      };
      return { ...column, codes, value, raw };
    });
  }

  gene(index) {
    return this.once("gene" + index, async () => {
      const genes = this.data.genes;
      const text = this.once("blocks", () => document.getElementById("comp-genes").textContent);
      const bytes = new Uint8Array(await unpack(text.slice(index ? genes.ends[index - 1] : 0, genes.ends[index])));
      const [min, max] = [genes.mins[index], genes.maxs[index]];
      return { name: genes.names[index], kind: "number", gene: true, min, max, codes: Uint16Array.from(bytes), value: (i) => min + ((max - min) * bytes[i]) / 255 };
    });
  }

  // The name of a sample. They are unpacked as bytes: a million texts would take too long.
  async name(i) {
    const { bytes, ends } = await this.once("names", async () => {
      const bytes = new Uint8Array(await unpack(this.data.names));
      const ends = new Uint32Array(this.data.shown);
      for (let at = 0, k = 0; at < bytes.length; at++) if (bytes[at] === 0) ends[k++] = at;
      return { bytes, ends };
    });
    return new TextDecoder().decode(bytes.subarray(i ? ends[i - 1] + 1 : 0, ends[i]));
  }

  // The column of a role ("condition" or "label"); null without one.
  role(name) {
    const index = this.data.columns.findIndex((c) => c.name === this.data[name] && c.kind === "categorical");
    return index < 0 ? null : this.column(index);
  }

  // Of each gene of a change in a label: means of the source, the target and the prediction, and the test's z and
  // adjusted p.
  means(change, label) {
    return this.once("means" + change + "/" + label, async () => {
      const entry = this.data.effects.changes[change].labels[label];
      const raw = new Uint16Array(await unpack(entry.means));
      const tests = new Float32Array(await unpack(entry.tests));
      const n = raw.length / 3;
      const scaled = Float64Array.from(raw, (v) => entry.min + ((entry.max - entry.min) * v) / 65535);
      return { source: scaled.subarray(0, n), target: scaled.subarray(n, 2 * n), predicted: scaled.subarray(2 * n), z: tests.subarray(0, n), p: tests.subarray(n) };
    });
  }
}
