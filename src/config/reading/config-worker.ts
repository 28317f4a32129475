/** The process of `ConfigProcess`: the request comes by standard input, the file goes by standard output. */
import { deserialize, serialize } from 'bun:jsc'
import type { ReadRequest } from './config-process.ts'
import { readFile } from './parse.ts'

const { text, options } = deserialize(await Bun.stdin.arrayBuffer()) as ReadRequest
await Bun.write(Bun.stdout, new Uint8Array(serialize(readFile(text, options))))
