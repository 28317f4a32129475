import packageJson from '../../package.json' with { type: 'json' }
import type { Command } from './command.ts'
import { print } from './command.ts'

/** The versions of the gateway and of Bun. */
export const version: Command = {
  name: 'version',
  summary: 'Print the version',
  flags: {},
  run() {
    print(`modelgate ${packageJson.version} (bun ${Bun.version})`)
    return 0
  },
}
