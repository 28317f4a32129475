/**
 * Starts the workers of a gateway, keeps what they share, and starts those anew that end. A worker is a process of its
 * own, so that a crash takes one of them; it is to the others what a replica is, and its journal is in a directory of
 * its own (docs/decisions/0130).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { lockDataDirectory } from '../../platform/data-directory-lock.ts'
import { finishRestore } from '../../store/backup/finish-restore.ts'
import { keepPrivate } from '../../platform/private-directory.ts'
import { claimSingleReplica } from '../../store/database/replica-lock.ts'
import { serveLocalRedis } from '../../store/redis/local-server.ts'
import type { LocalRedis } from '../../store/redis/local-server.ts'
import { forgetCalls } from '../../store/limits/local-exchange.ts'
import { workerPrefix, workerVariable } from './worker-messages.ts'
import type { FromWorker, StartedWith, ToWorker, WorkerPlace } from './worker-messages.ts'
// The scripts that the shared store runs are known once their modules are loaded.
import '../../store/answers/redis-answers.ts'
import '../../store/limits/grant-script.ts'
import '../../store/objects/run-leases.ts'
import '../../store/redis/redis-pins.ts'
import '../../store/redis/trouble-claims.ts'

/** What is started, and with what. */
export interface SupervisorOptions {
  readonly count: number
  /** Of `serve`, but for the number of workers. */
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly dataDirectory: string
  /** Without an address of Redis this process keeps what workers share. */
  readonly started: StartedWith
  /** A line for the operator. */
  tell(text: string): void
}

/** The workers of a gateway, under way. */
export interface Supervisor {
  /** Resolves with the code of the gateway, when all workers have ended. */
  readonly ended: Promise<number>
  /** Passes a signal on to all of them; after `SIGTERM` none is started anew. */
  signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGHUP'): void
}

/** Kept answers that are shared: what is beyond it is pushed out, the oldest first. */
const sharedAnswersBytesMax = 256 * 1024 * 1024
/** A worker that ends soon after its start is started anew after a pause, twice as long each time. */
const pauseMsMin = 100
const pauseMsMax = 5000
/** One that has served so long begins anew with the shortest pause. */
const steadyMs = 30_000
/** The metrics of workers are waited for so long. */
const renderMs = 1500

/** Takes the data directory and starts the workers, the first before the others. Rejects when it cannot. */
export async function superviseWorkers(options: SupervisorOptions): Promise<Supervisor> {
  keepPrivate(options.dataDirectory)
  const lock = lockDataDirectory(options.dataDirectory)
  try {
    finishRestore(options.dataDirectory)
    const shared = options.started.redisUrl === undefined ? serveShared(options.dataDirectory) : undefined
    const workers = new Workers(options, shared)
    const claim =
      shared &&
      (await claimSingleReplica(options.started.databaseUrl, { reportHeld: held => workers.aloneChanged(held) }))
    workers.start()
    const ended = workers.ended.finally(async () => {
      shared?.close()
      await claim?.release()
      lock.release()
    })
    return { ended, signal: name => workers.signal(name) }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** The system takes no longer path of a socket (`sun_path` of unix(7), with the byte that ends it). */
const socketPathBytesMax = 100

/** In the data directory, or where its path is too long in a directory of its own that others cannot enter. */
function serveShared(dataDirectory: string): LocalRedis {
  const own = join(dataDirectory, socketName)
  const isShort = Buffer.byteLength(own) <= socketPathBytesMax
  const made = isShort ? undefined : mkdtempSync(join(tmpdir(), 'modelgate-'))
  const path = made === undefined ? own : join(made, socketName)
  const shared = serveLocalRedis({ path, textBytesMax: sharedAnswersBytesMax })
  return {
    ...shared,
    close() {
      shared.close()
      if (made !== undefined) rmSync(made, { recursive: true, force: true })
    },
  }
}

const socketName = 'workers.sock'

/** One that was started. */
interface Worker {
  readonly number: number
  readonly process: Subprocess
  readonly startedMs: number
  serves: boolean
  /** It was to read its configuration anew before it could. */
  reloadsLater: boolean
}

/** A question of one worker for the metrics of all. */
interface Collection {
  readonly asker: number
  readonly askedId: number
  readonly texts: string[]
  readonly waitsFor: Set<number>
  readonly timer: ReturnType<typeof setTimeout>
}

class Workers {
  readonly #options: SupervisorOptions
  readonly #shared: LocalRedis | undefined
  readonly #running = new Map<number, Worker>()
  readonly #pausesMs = new Map<number, number>()
  readonly #collections = new Map<number, Collection>()
  readonly #end = Promise.withResolvers<number>()
  #lastCollection = 0
  #port: number | undefined
  #isStopping = false
  #isAlone = true
  #code = 0

  constructor(options: SupervisorOptions, shared: LocalRedis | undefined) {
    this.#options = options
    this.#shared = shared
  }

  get ended(): Promise<number> {
    return this.#end.promise
  }

  start(): void {
    this.#startWorker(1)
  }

  signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGHUP'): void {
    if (name !== 'SIGHUP') this.#isStopping = true
    // A signal that a process does not listen for yet ends it.
    for (const worker of this.#running.values())
      if (name === 'SIGHUP' && !worker.serves) worker.reloadsLater = true
      else worker.process.kill(name)
    this.#endIfAllEnded()
  }

  aloneChanged(isAlone: boolean): void {
    this.#isAlone = isAlone
    this.#tellStanding()
  }

  #startWorker(number: number): void {
    const { command, environment, count, started } = this.#options
    const announces = this.#port === undefined
    const shared = this.#shared && { sharedUrl: this.#shared.url }
    const place: WorkerPlace = { number, count, announces, started, ...shared }
    const port = this.#port === undefined ? [] : ['--port', String(this.#port)]
    const process = Bun.spawn([...command, ...port], {
      env: { ...environment, [workerVariable]: JSON.stringify(place) },
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      ipc: message => this.#received(number, message as FromWorker),
      onExit: (_process, code, signal) => this.#exited(number, code, signal),
    })
    this.#running.set(number, { number, process, startedMs: performance.now(), serves: false, reloadsLater: false })
  }

  #received(number: number, message: FromWorker): void {
    if (message.kind === 'serves') this.#serves(number, message.port)
    else if (message.kind === 'collect') this.#collect(number, message.id)
    else if (message.kind === 'metrics') this.#rendered(number, message.id, message.text)
    else this.#toOthers(number, message)
  }

  #serves(number: number, port: number): void {
    const worker = this.#running.get(number)
    if (worker) worker.serves = true
    if (worker?.reloadsLater) worker.process.kill('SIGHUP')
    this.#tellStanding()
    if (this.#port !== undefined) return
    this.#port = port
    for (let other = 2; other <= this.#options.count; other++) this.#startWorker(other)
  }

  #tellStanding(): void {
    const serving = [...this.#running.values()].filter(one => one.serves).length
    this.#toOthers(0, { kind: 'standing', isOnlyReplica: this.#isAlone, serving })
  }

  #exited(number: number, code: number | null, signal: unknown): void {
    const worker = this.#running.get(number)
    this.#running.delete(number)
    for (const [id] of this.#collections) this.#rendered(number, id, '')
    if (this.#shared) forgetCalls(this.#shared.keyspace, workerPrefix(number))
    this.#tellStanding()
    // One that did not serve yet had nothing to end well.
    if (this.#isStopping) this.#code ||= code ?? (worker?.serves === false ? 0 : 1)
    else if (this.#port === undefined) this.#giveUp(code)
    else this.#startAnew(number, worker, code === null ? `signal ${String(signal)}` : `code ${code}`)
    this.#endIfAllEnded()
  }

  /** The first worker did not start: it has said why. */
  #giveUp(code: number | null): void {
    this.#isStopping = true
    this.#code = code || 1
  }

  #startAnew(number: number, worker: Worker | undefined, reason: string): void {
    const livedMs = performance.now() - (worker?.startedMs ?? 0)
    const pauseMs = livedMs > steadyMs ? pauseMsMin : (this.#pausesMs.get(number) ?? pauseMsMin)
    this.#pausesMs.set(number, Math.min(2 * pauseMs, pauseMsMax))
    this.#options.tell(`worker ${number} ended (${reason}); it is started anew`)
    setTimeout(() => {
      if (!this.#isStopping) this.#startWorker(number)
    }, pauseMs)
  }

  #endIfAllEnded(): void {
    if (this.#isStopping && this.#running.size === 0) this.#end.resolve(this.#code)
  }

  #send(number: number, message: ToWorker): void {
    try {
      this.#running.get(number)?.process.send(message)
    } catch {
      // It has ended, and `#exited` is about to be told; the others and what follows do not wait for it.
    }
  }

  #toOthers(number: number, message: ToWorker): void {
    for (const other of this.#running.keys()) if (other !== number) this.#send(other, message)
  }

  #collect(asker: number, askedId: number): void {
    const id = ++this.#lastCollection
    const waitsFor = new Set([...this.#running.values()].filter(one => one.serves).map(one => one.number))
    const timer = setTimeout(() => this.#collected(id), renderMs)
    this.#collections.set(id, { asker, askedId, texts: [], waitsFor, timer })
    for (const number of waitsFor) this.#send(number, { kind: 'render', id })
  }

  #rendered(number: number, id: number, text: string): void {
    const collection = this.#collections.get(id)
    if (!collection?.waitsFor.delete(number)) return
    if (text !== '') collection.texts.push(text)
    if (collection.waitsFor.size === 0) this.#collected(id)
  }

  #collected(id: number): void {
    const { asker, askedId, texts, timer } = this.#collections.get(id)!
    clearTimeout(timer)
    this.#collections.delete(id)
    this.#send(asker, { kind: 'collected', id: askedId, texts })
  }
}
