/** Loaded before the files of a test process: its threads start from `TEST_JOINED_WORKERS` (joined-workers.ts). */
import { joinedWorker } from './joined-workers.ts'

const folder = process.env.TEST_JOINED_WORKERS!
const usual = globalThis.Worker

globalThis.Worker = class extends usual {
  constructor(source: string | URL, options?: WorkerOptions) {
    const joined = source instanceof URL ? joinedWorker(folder, Bun.fileURLToPath(source)) : undefined
    super(joined ? Bun.pathToFileURL(joined) : source, options)
  }
}
