/** The simulator as a command: `modelgate simulate`. */
import { startSimulator } from './server/server.ts'
import type { SimulatorOptions } from './server/server.ts'

/** Serves until SIGINT or SIGTERM; writes its address to standard output. Rejects when the port is taken. */
export async function runSimulator(options: SimulatorOptions): Promise<void> {
  const simulator = await startSimulator(options)
  const signalled = new Promise<void>(resolve => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
  process.stdout.write(`simulator on ${simulator.url}\n`)
  await signalled
  await simulator.stop()
}
