import type { Command } from '../command.ts'
import { print } from '../command.ts'
import { text } from '../options.ts'
import { accessToken, chosenGateway } from './access.ts'

/** Prints an access token that holds, alone: the key command of coding agents. Many may run at once. */
export const token: Command = {
  name: 'token',
  summary: 'Print a valid access token of your sign-in, for coding agents and scripts',
  flags: {
    url: { type: 'string', value: 'URL', help: 'The gateway (MODELGATE_URL; default: the one signed in to last)' },
    renew: { type: 'boolean', help: 'A new one, although the one that is kept still holds' },
  },
  async run({ flags, environment }) {
    const url = chosenGateway(text(flags.url), environment)
    print(await accessToken(url, environment, { renew: flags.renew === true }))
    return 0
  },
}
