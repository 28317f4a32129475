import { runSimulator } from '../../simulator/index.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'
import { portNumber, text } from './options.ts'

export const simulate: Command = {
  name: 'simulate',
  summary: 'Serve a simulated upstream: scripted answers, seeded faults, a truth log (docs/simulator.md)',
  flags: {
    port: { type: 'string', value: 'N', help: 'Port (default 4010)' },
    host: { type: 'string', value: 'H', help: 'Address to listen on (default 127.0.0.1)' },
    seed: { type: 'string', value: 'N', help: 'Seed of answers and faults (default 1)' },
  },
  async run({ flags }) {
    const seed = Number(text(flags.seed) ?? 1)
    if (!Number.isSafeInteger(seed)) throw new UsageError(`--seed must be a whole number; got '${text(flags.seed)}'`)
    await runSimulator({
      port: portNumber(text(flags.port) ?? '4010', '--port'),
      host: text(flags.host) ?? '127.0.0.1',
      seed,
    })
    return 0
  },
}
