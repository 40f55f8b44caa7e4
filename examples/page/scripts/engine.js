// The engine: kaeru itself, compiled to WebAssembly. engine.call(name, ...numbers) calls one of its functions.
// engine.json(name, ...) parses what the function printed. A usage error of the library becomes an EngineError.

class EngineError extends Error {}

async function unpack(base64) {
    const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
}

async function loadEngine(base64) {
    let exports, printed = '';
    // The memory moves when it grows, so every look at it makes a new view.
    const view = () => new DataView(exports.memory.buffer);
    const bytes = (at, n) => new Uint8Array(exports.memory.buffer, at, n);
    const text = (at) => {
        const all = new Uint8Array(exports.memory.buffer, at);
        return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
    };
    const engine = { rule: null };

    // The few functions of a system that the C library asks for. There are no files; stdout and stderr are texts.
    const SUCCESS = 0, BAD_FILE = 8, CHARACTER_DEVICE = 2;
    const system = {
        environ_get: () => SUCCESS,
        environ_sizes_get(count, size) {
            view().setUint32(count, 0, true);
            view().setUint32(size, 0, true);
            return SUCCESS;
        },
        clock_time_get(id, precision, out) {
            view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
            return SUCCESS;
        },
        fd_close: () => BAD_FILE,
        fd_seek: () => BAD_FILE,
        fd_fdstat_get(fd, out) {
            bytes(out, 24).fill(0);
            view().setUint8(out, CHARACTER_DEVICE);
            return SUCCESS;
        },
        fd_write(fd, parts, n, written) {
            let total = 0;
            for (let i = 0; i < n; i++) {
                const at = view().getUint32(parts + 8 * i, true), size = view().getUint32(parts + 8 * i + 4, true);
                printed += new TextDecoder().decode(bytes(at, size));
                total += size;
            }
            view().setUint32(written, total, true);
            return SUCCESS;
        },
        poll_oneoff: () => BAD_FILE,
        proc_exit(status) { throw new EngineError(`exit ${status}`); },
    };
    const page = {
        page_fail(message) { throw new EngineError(text(message)); },
        // The reader's operation: engine.rule computes on arrays in the engine's memory.
        page_rule(n, ...at) {
            const array = (p) => p ? new Float32Array(exports.memory.buffer, p, Number(n)) : null;
            const [x, z, y, dy, dx, dz] = at.map(array);
            engine.rule({ n: Number(n), x, z, y, dy, dx, dz });
        },
    };
    const made = await WebAssembly.instantiate(await unpack(base64), { wasi_snapshot_preview1: system, page });
    exports = made.instance.exports;
    exports._initialize();
    exports.engine_begin();

    engine.call = (name, ...numbers) => {
        printed = '';
        exports.call_begin();
        const stack = exports.__stack_pointer.value;
        try {
            return exports[name](...numbers);
        } finally {
            exports.__stack_pointer.value = stack;          // an exception leaves C functions without their ends
            exports.call_end();
        }
    };
    engine.printed = () => printed;
    engine.json = (name, ...numbers) => {
        engine.call(name, ...numbers);
        return JSON.parse(printed);
    };
    // A text, and numbers, that the next call reads; numbers that the last call has written.
    engine.write = (s) => {
        const encoded = new TextEncoder().encode(s).subarray(0, 65535);
        const room = bytes(exports.engine_text(), encoded.length + 1);
        room.set(encoded);
        room[encoded.length] = 0;
    };
    engine.writeBytes = (data) => bytes(exports.engine_text(), data.length).set(data);
    // Arrays at an address in the engine's memory.
    engine.floatsAt = (at, n) => new Float32Array(exports.memory.buffer, at, n);
    engine.intsAt = (at, n) => new Int32Array(exports.memory.buffer, at, n);
    engine.numbers = (n) => new Float32Array(exports.memory.buffer, exports.engine_numbers(), n);
    return engine;
}
