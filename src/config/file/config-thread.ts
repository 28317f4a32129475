/**
 * Reads configuration files in a thread that ends when it has nothing more to read. YAML and the schemas take 13 MB of
 * memory, which the process would keep for its whole life; a gateway reads its file at the start and when it changes
 * (docs/decisions/0076).
 */
import { siblingModule } from '../../lib/sibling-module.ts'
import { readingOf } from './reading.ts'
import type { ConfigReader, ReadFile, ReadOptions } from './reading.ts'

/** What the thread is asked. */
export interface ReadRequest {
  readonly text: string
  readonly options: ReadOptions
}

/** What it answers: the file, or why the reader failed. */
export type ReadReply = { readonly file: ReadFile } | { readonly failure: string }

/** A start reads the file once or twice. */
const idleMs = 500

/** The thread of a process. The last answer is kept with it: a start that asks the same twice gets it again. */
export class ConfigThread {
  #worker: Worker | undefined
  #answer: ((reply: ReadReply) => void) | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #last: { readonly request: ReadRequest; readonly file: ReadFile } | undefined
  #ending: ReturnType<typeof setTimeout> | undefined

  /** One text at a time, in the order in which they are asked for. */
  readonly read: ConfigReader = (text, options) => {
    const read = this.#turn.then(() => this.#read({ text, options }))
    this.#turn = read.catch(() => {})
    return read.then(readingOf)
  }

  async #read(request: ReadRequest): Promise<ReadFile> {
    clearTimeout(this.#ending)
    try {
      if (this.#last && Bun.deepEquals(this.#last.request, request)) return this.#last.file
      const reply = await this.#ask(request)
      if ('failure' in reply) throw new Error(`the configuration could not be read: ${reply.failure}`)
      // Secrets that become known later change the map that was sent.
      const sent = { ...request.options, secrets: request.options.secrets && new Map(request.options.secrets) }
      this.#last = { request: { ...request, options: sent }, file: reply.file }
      return reply.file
    } finally {
      this.#ending = setTimeout(() => this.close(), idleMs)
    }
  }

  #ask(request: ReadRequest): Promise<ReadReply> {
    return new Promise(resolve => {
      this.#answer = resolve
      this.#worker ??= this.#start()
      this.#worker.postMessage(request)
    })
  }

  #start(): Worker {
    const worker = new Worker(siblingModule('config-worker', import.meta.url), { smol: true })
    worker.addEventListener('message', ({ data }) => this.#answer?.(data as ReadReply))
    worker.addEventListener('error', ({ message }) => this.#answer?.({ failure: message }))
    return worker
  }

  /** Ends the thread now; the next text has another. */
  close(): void {
    clearTimeout(this.#ending)
    this.#worker?.terminate()
    this.#worker = undefined
    this.#last = undefined
  }
}
