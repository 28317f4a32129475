import packageJson from '../../package.json' with { type: 'json' }
import type { Command } from './command.ts'
import { print } from './command.ts'

/** Of the gateway, and of the Bun that runs it. */
export const version: Command = {
  name: 'version',
  summary: 'Print the version',
  flags: {},
  run() {
    print(`modelgate ${packageJson.version} (bun ${Bun.version})`)
    return 0
  },
}
