/** Works on secrets in the database, without the HTTP API. A running gateway sees changes within a second. */
import { systemClock } from '../lib/clock.ts'
import { rotateBodies } from '../store/bodies/body-rotation.ts'
import { EncryptionKeys } from '../store/keys/encryption-keys.ts'
import { ConfiguredObjects } from '../store/objects/configured-objects.ts'
import { rotateConversations } from '../store/objects/conversation-rotation.ts'
import type { Command } from './command.ts'
import { print } from './command.ts'
import { withDatabase } from './gateway-database.ts'
import { configFlag, dataDirectory, dataFlag } from './options.ts'

/**
 * Encrypts every stored secret under the present key, row by row, while gateways serve; both keys decrypt meanwhile.
 * Throws where a row is under a key that is not configured, and where a new key is asked for and the environment gives
 * the key.
 */
export const credentialsRotate: Command = {
  name: 'credentials rotate',
  summary: 'Encrypt stored secrets under the present key (MODELGATE_ENCRYPTION_KEY), also while gateways run',
  flags: {
    config: configFlag,
    'data-dir': dataFlag,
    'new-key': { type: 'boolean', help: 'First add a new key to the file in the data directory' },
  },
  async run(input) {
    const { flags, environment } = input
    const rotated = await withDatabase(input, async ({ database }) => {
      const isShared = database.kind === 'postgres'
      const keys = new EncryptionKeys({ environment, dataDirectory: dataDirectory(flags, environment), isShared })
      if (flags['new-key']) keys.addKey()
      const secrets = await new ConfiguredObjects({ database, clock: systemClock, keys }).rotate()
      return secrets + (await rotateConversations(database, keys)) + (await rotateBodies(database, keys))
    })
    print(`${rotated} ${rotated === 1 ? 'secret was' : 'secrets were'} encrypted anew`)
    return 0
  },
}
