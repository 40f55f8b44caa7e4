// node wasi.mjs PROGRAM.wasm [ARGUMENT...]: runs a program that was compiled for wasm32-wasi.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1", args: process.argv.slice(2), returnOnExit: true });
const program = await WebAssembly.compile(await readFile(process.argv[2]));
process.exitCode = wasi.start(await WebAssembly.instantiate(program, wasi.getImportObject()));
