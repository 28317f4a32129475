/**
 * Reads configuration files in a process that ends with its answer. YAML and the schemas take 13 MB of memory, which
 * the gateway would keep for its whole life; it reads its file at the start and when it changes (docs/decisions/0076).
 */
import { deserialize, serialize } from 'bun:jsc'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { workerUrl } from '../../lib/program-files.ts'
import { readingOf } from './reading.ts'
import type { ConfigReader, ReadFile, ReadOptions } from './reading.ts'

/** What the process is asked. */
export interface ReadRequest {
  readonly text: string
  readonly options: ReadOptions
}

const module = fileURLToPath(workerUrl('config-worker', import.meta.url))
/** What the working directory of the gateway holds does not change the program. */
const ownCommand = [process.execPath, '--no-install', '--no-env-file', module]

/** A start asks for the same file twice: until `forget` the last reading is kept. */
export class ConfigProcess {
  readonly #command: readonly string[]
  #keepsLast = true
  #last: { readonly request: ReadRequest; readonly file: Promise<ReadFile> } | undefined

  /** `command` = what is started. */
  constructor(command: readonly string[] = ownCommand) {
    this.#command = command
  }

  /** Where no process can be started, the file is read in this one. */
  readonly read: ConfigReader = async (text, options) => {
    // Secrets that become known later change the map.
    const request = { text, options: { ...options, secrets: options.secrets && new Map(options.secrets) } }
    if (this.#last && Bun.deepEquals(this.#last.request, request)) return readingOf(await this.#last.file)
    const file = this.#ask(request).catch(() => readHere(request))
    if (this.#keepsLast) this.#last = { request, file }
    return readingOf(await file)
  }

  forget(): void {
    this.#keepsLast = false
    this.#last = undefined
  }

  /** Rejects where the process cannot be started or ends without an answer. */
  async #ask(request: ReadRequest): Promise<ReadFile> {
    const child = Bun.spawn([...this.#command], {
      // The variables that the file refers to are part of the request, and no setting of the gateway is meant for it.
      env: {},
      cwd: dirname(module),
      stdin: new Uint8Array(serialize(request)),
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const answer = await new Response(child.stdout).arrayBuffer()
    if ((await child.exited) !== 0 || answer.byteLength === 0)
      throw new Error('the process that reads the configuration has failed')
    return deserialize(answer) as ReadFile
  }
}

async function readHere({ text, options }: ReadRequest): Promise<ReadFile> {
  return (await import('./parse.ts')).readFile(text, options)
}
