/** `prices` of the configuration, for commands that need no other part of it. */
import type { Environment } from '../config/environment.ts'
import type { Config } from '../config/sections/file.ts'
import { openSettings } from '../config/settings-source.ts'
import { providers } from '../providers/index.ts'

/**
 * undefined = there is no configuration, or it has no `prices`. The list itself is not read: a command may be asked to
 * bring it because it is missing or damaged. Throws ConfigError.
 */
export async function pricesOfConfiguration(
  file: string | undefined,
  environment: Environment,
): Promise<Config['prices']> {
  if (file === undefined) return undefined
  return (await openSettings({ configFile: file, environment, providers, readsPriceList: false })).config().prices
}
