import { openSettings } from '../config/settings-source.ts'
import { providers } from '../providers/index.ts'
import type { Command } from './command.ts'
import { print, table } from './command.ts'
import { configFile, configFlag, jsonFlag } from './options.ts'

/** Also looks for model servers on this machine if the file lists no models. Throws ConfigError. */
export const modelsList: Command = {
  name: 'models list',
  summary: 'List the models that a configuration (or the environment and this machine) offers',
  flags: { config: configFlag, json: jsonFlag },
  async run({ flags, environment }) {
    const source = await openSettings({ configFile: configFile(flags, environment), environment, providers })
    await source.discover()
    const { deployments } = source.current()
    const rows = deployments.map(one => ({
      name: one.modelName,
      provider: one.target.provider.name,
      model: one.target.model,
      mode: one.mode,
      priced: one.prices !== null,
      source: one.origin.where,
      id: one.id,
    }))
    if (flags.json) print(JSON.stringify(rows, null, 2))
    else
      print(
        table(
          ['NAME', 'UPSTREAM', 'MODE', 'PRICE', 'SOURCE'],
          rows.map(one => [
            one.name,
            `${one.provider}/${one.model}`,
            one.mode,
            one.priced ? 'known' : 'unknown',
            one.source,
          ]),
        ),
      )
    return 0
  },
}
