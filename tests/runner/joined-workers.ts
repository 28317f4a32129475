/**
 * Threads of the program as one file each, as an installation has them: a gateway in the process of a test starts two
 * or three, and loading their sources module by module takes 10 ms of the processor each. Their bytecode is beside
 * them, which Bun makes of CommonJS alone: it spares each thread another 10 ms, of parsing.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const sources = [
  'src/store/bodies/bodies-worker.ts',
  'src/store/ledger/ledger-worker.ts',
  'src/store/ledger/reads/ledger-read-worker.ts',
]

export interface JoinedWorkers {
  /** Of files named as their sources, with `.js`. */
  readonly folder: string
  remove(): void
}

/** `root`: the folder of the project. Throws what Bun says of sources that cannot be joined. */
export async function joinWorkers(root: string): Promise<JoinedWorkers> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-workers-'))
  await Bun.build({
    entrypoints: sources.map(source => join(root, source)),
    outdir: folder,
    naming: '[name].[ext]',
    target: 'bun',
    format: 'cjs',
    bytecode: true,
    minify: { syntax: true, whitespace: true },
    sourcemap: 'linked',
  })
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** The file in `folder` that takes the place of a worker's source; undefined = it is not joined. */
export const joinedWorker = (folder: string, source: string): string | undefined =>
  sources.some(one => source.endsWith(`/${one}`)) ? join(folder, `${basename(source, '.ts')}.js`) : undefined
