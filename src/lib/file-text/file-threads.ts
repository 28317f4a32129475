/**
 * Threads that read packed files: foreign formats are parsed beside the event loop, each call's files within a time
 * and a growth of memory. What is not read by then is unreadable.
 */
import { FairQueue } from '../fair-queue.ts'
import { workerUrl } from '../program-files.ts'
import type { Reading } from './reading.ts'

/** The packed files of one call. */
export interface FileRequest {
  readonly files: readonly Uint8Array[]
}

/** `file` = its place in the request. */
export type FileReply =
  | { readonly kind: 'reading'; readonly file: number; readonly reading: Reading }
  | { readonly kind: 'file-end'; readonly file: number }

/** Bounds of the work. */
export interface FileThreadsOptions {
  /** Threads that read at once. */
  readonly threadsMax?: number
  /** Calls that wait for a thread, of all owners together. */
  readonly waitingMax?: number
  /** Milliseconds for the files of one call, from when they are begun. */
  readonly readMs?: number
  /** Milliseconds that a call waits for a thread. */
  readonly waitMs?: number
  /** Bytes that the process may grow by while the files of one call are read. */
  readonly growthBytesMax?: number
  /** Milliseconds that a thread stays without work. */
  readonly idleMs?: number
}

const defaults: Required<FileThreadsOptions> = {
  threadsMax: 2,
  waitingMax: 1000,
  readMs: 10_000,
  waitMs: 30_000,
  growthBytesMax: 256 * 1024 * 1024,
  idleMs: 30_000,
}
const watchMs = 50

interface Task {
  readonly files: readonly Uint8Array[]
  readonly readings: Reading[][]
  readonly ended: Set<number>
  readonly waitTimer: ReturnType<typeof setTimeout>
  isDone: boolean
  resolve(readings: readonly (readonly Reading[])[]): void
}

/** Reads the files of many calls. */
export class FileThreads {
  readonly #limits: Required<FileThreadsOptions>
  readonly #waiting: FairQueue<Task>
  readonly #idle = new Set<FileThread>()
  #busy = 0

  constructor(options: FileThreadsOptions = {}) {
    this.#limits = { ...defaults, ...options }
    this.#waiting = new FairQueue(this.#limits.waitingMax)
  }

  /** Of each file what it says, and what of it cannot be read. `owner` = the id of the key that asks. Never rejects. */
  read(files: readonly Uint8Array[], owner: string): Promise<readonly (readonly Reading[])[]> {
    return new Promise(resolve => {
      const waitTimer = setTimeout(() => end(task), this.#limits.waitMs)
      const task: Task = { files, readings: files.map(() => []), ended: new Set(), waitTimer, isDone: false, resolve }
      if (!this.#waiting.add(owner, task)) return end(task)
      this.#next()
    })
  }

  #next(): void {
    if (this.#busy >= this.#limits.threadsMax) return
    let task = this.#waiting.take()
    while (task?.isDone) task = this.#waiting.take()
    if (!task) return
    clearTimeout(task.waitTimer)
    const [known] = this.#idle
    const thread = known ?? new FileThread(this.#limits, one => this.#idle.delete(one))
    this.#idle.delete(thread)
    this.#busy++
    thread.read(task, isAlive => {
      this.#busy--
      if (isAlive) this.#idle.add(thread)
      this.#next()
    })
  }
}

/** What was not read to its end is unreadable. */
function end(task: Task): void {
  if (task.isDone) return
  task.isDone = true
  clearTimeout(task.waitTimer)
  for (const [file, readings] of task.readings.entries())
    if (!task.ended.has(file)) readings.push({ unreadable: 'a packed file that takes too long or too much memory' })
  task.resolve(task.readings)
}

class FileThread {
  readonly #worker: Worker
  readonly #limits: Required<FileThreadsOptions>
  readonly #onEnd: (thread: FileThread) => void
  #task: Task | undefined
  #done: ((isAlive: boolean) => void) | undefined
  /** Ends the thread: it idles, or works for too long. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #watch: ReturnType<typeof setInterval> | undefined

  constructor(limits: Required<FileThreadsOptions>, onEnd: (thread: FileThread) => void) {
    this.#limits = limits
    this.#onEnd = onEnd
    this.#worker = new Worker(workerUrl('file-text-worker', import.meta.url), { smol: true })
    this.#worker.onmessage = ({ data }: MessageEvent<FileReply>) => this.#take(data)
    this.#worker.addEventListener('close', () => this.#end())
    this.#worker.onerror = () => this.#end()
    // The DOM's type of Worker, which the checker takes, does not know Bun's `unref`.
    ;(this.#worker as Worker & { unref(): void }).unref()
  }

  /** `done` is called once: the thread can take the next task, or has ended. */
  read(task: Task, done: (isAlive: boolean) => void): void {
    this.#task = task
    this.#done = done
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(), this.#limits.readMs)
    const most = process.memoryUsage.rss() + this.#limits.growthBytesMax
    this.#watch = setInterval(() => {
      if (process.memoryUsage.rss() > most) this.#end()
    }, watchMs)
    this.#worker.postMessage({ files: task.files } satisfies FileRequest)
  }

  #take(reply: FileReply): void {
    const task = this.#task
    if (!task) return
    if (reply.kind === 'reading') task.readings[reply.file]!.push(reply.reading)
    else task.ended.add(reply.file)
    if (task.ended.size === task.files.length) this.#finish(true)
  }

  #finish(isAlive: boolean): void {
    clearTimeout(this.#timer)
    clearInterval(this.#watch)
    const [task, done] = [this.#task, this.#done]
    this.#task = this.#done = undefined
    if (isAlive) {
      this.#timer = setTimeout(() => this.#end(), this.#limits.idleMs)
      // An idle thread does not keep the process alive.
      this.#timer.unref()
    } else {
      this.#worker.terminate()
      this.#onEnd(this)
    }
    if (task) end(task)
    done?.(isAlive)
  }

  #end(): void {
    this.#finish(false)
  }
}

const threads = new FileThreads()

/** Reads packed files in the threads of this process: see `FileThreads`. */
export const readInThread = (files: readonly Uint8Array[], owner: string): Promise<readonly (readonly Reading[])[]> =>
  threads.read(files, owner)
