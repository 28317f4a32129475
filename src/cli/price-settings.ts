/** `prices` of the configuration, for commands that need no other part of it. */
import type { Environment } from '../config/environment.ts'
import type { Config } from '../config/file/schema.ts'
import { openSettings } from '../config/settings-source.ts'
import { providers } from '../providers/index.ts'

/** undefined = there is no configuration, or it has no `prices`. Throws ConfigError. */
export function pricesOfConfiguration(file: string | undefined, environment: Environment): Config['prices'] {
  return file === undefined ? undefined : openSettings({ configFile: file, environment, providers }).config().prices
}
