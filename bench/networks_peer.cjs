// SPDX-License-Identifier: BSD-3-Clause
// Pictures per second of onnxruntime-node: runs on tensors that are there, or, with a list of pictures, the whole way that a
// program for node takes: sharp (libvips) decodes, makes the shorter side SIDE * 8 / 7 long and cuts the centre, then the network runs.
//   node networks_peer.cjs MODULES MODEL SIDE RUNS THREADS TOGETHER BATCH [LIST]       prints {"seconds", "pictures", "cpu"}
"use strict";
const fs = require("fs");
const path = require("path");
const [, , modules, model, side, runs, threads, together, batch, list] = process.argv;
const ort = require(path.join(modules, "onnxruntime-node"));
const sharp = list ? require(path.join(modules, "sharp")) : null;
const values = side * side * 3;

async function pixels(file) {
  const shorter = Math.round((side * 8) / 7);
  const { data, info } = await sharp(file).resize({ width: shorter, height: shorter, fit: "outside", kernel: "linear" })
    .removeAlpha().toColourspace("srgb").raw().toBuffer({ resolveWithObject: true });
  const left = (info.width - side) >> 1, top = (info.height - side) >> 1, out = new Uint8Array(values);
  for (let y = 0; y < side; ++y) {
    const begin = ((top + y) * info.width + left) * 3;
    out.set(data.subarray(begin, begin + side * 3), y * side * 3);
  }
  return out;
}

async function main() {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: +threads, interOpNumThreads: 1 });
  const metadata = session.inputMetadata ? session.inputMetadata[0] : null;
  const bytes = !metadata || metadata.type === "uint8";
  const files = list ? fs.readFileSync(list, "utf8").split("\n").filter((line) => line) : [];
  const made = bytes ? new Uint8Array(batch * values).map((_, i) => (i * 7919) % 256)
    : new Float32Array(batch * values).map((_, i) => Math.sin(i));
  const dims = (n) => (bytes ? [n, +side, +side, 3] : [n, 3, +side, +side]);
  const output = session.outputNames.filter((name) => name.startsWith("feat")).concat(session.outputNames)[0];
  const run = (data, n) => session.run({ [session.inputNames[0]]: new ort.Tensor(bytes ? "uint8" : "float32", data, dims(n)) }, [output]);
  async function seen(first) { // pictures first ... of the list, through the network; how many
    const some = await Promise.all(files.slice(first, first + +batch).map(pixels));
    const data = new Uint8Array(some.length * values);
    some.forEach((picture, i) => data.set(picture, i * values));
    await run(data, some.length);
  }
  let next = 0;
  const total = list ? files.length : Math.ceil(+runs / +batch) * +batch;
  const worker = async () => {
    while (next < total) {
      const first = next;
      next += +batch;
      await (list ? seen(first) : run(made, +batch));
    }
  };
  await run(made, +batch);
  const before = process.cpuUsage(), start = process.hrtime.bigint();
  await Promise.all(Array.from({ length: +together }, worker));
  const seconds = Number(process.hrtime.bigint() - start) / 1e9, cpu = process.cpuUsage(before);
  console.log(JSON.stringify({ seconds, pictures: total, cpu: (cpu.user + cpu.system) / 1e6 }));
}
main();
