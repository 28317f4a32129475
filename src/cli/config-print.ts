import type { EffectiveValue } from '../core/effective-values.ts'
import { effectiveValues } from '../config/effective/effective-values.ts'
import { textOfFile } from '../config/reading/text-of-file.ts'
import { openSettings } from '../config/settings-source.ts'
import { providers } from '../providers/index.ts'
import { print } from './command.ts'
import type { Command } from './command.ts'
import { serve, serveOptions } from './serve.ts'

/** Throws ConfigError for a file with mistakes. */
export const configPrint: Command = {
  name: 'config print',
  summary: 'Print the settings that would hold, without secrets',
  flags: {
    ...serve.flags,
    effective: { type: 'boolean', help: 'Defaults too, not only what is set' },
    sources: { type: 'boolean', help: 'Behind each value: file and line, variable, flag or default' },
  },
  async run(input) {
    const options = await serveOptions(input)
    const { configFile, environment } = options
    // Throws where there is a mistake.
    await openSettings({ configFile, environment, providers })
    const text = configFile === undefined ? undefined : textOfFile(configFile)
    const all = effectiveValues({ text, options, sent: new Map() })
    const shown = input.flags.effective ? all.filter(isKnown) : all.filter(one => isKnown(one) && isSet(one))
    print(yamlOf(shown, input.flags.sources === true))
    return 0
  },
}

const isKnown = ({ value }: EffectiveValue): boolean => value !== null
const isSet = ({ source }: EffectiveValue): boolean => source !== 'default' && source !== 'stored'

/** In the layout of the file; variables, which do not stand in it, as comments above. */
function yamlOf(values: readonly EffectiveValue[], withSources: boolean): string {
  const behind = (one: EffectiveValue) => (withSources ? `  # ${sourceOf(one)}` : '')
  const variables = values.filter(one => !one.key.includes('.') && one.key !== 'environment_variables')
  const lines = variables.map(one => `# ${one.key}=${String(one.value)}${behind(one)}`)
  const open: string[] = []
  for (const one of values.filter(value => !variables.includes(value)).toSorted(bySection)) {
    const path = one.key.split('.')
    const sections = path.slice(0, -1)
    const shared = sections.findIndex((name, at) => open[at] !== name)
    for (let at = shared < 0 ? sections.length : shared; at < sections.length; at++)
      lines.push(`${'  '.repeat(at)}${sections[at]}:`)
    open.splice(0, open.length, ...sections)
    lines.push(`${'  '.repeat(sections.length)}${path.at(-1)}: ${JSON.stringify(one.value)}${behind(one)}`)
  }
  return lines.join('\n')
}

const sectionOf = ({ key }: EffectiveValue): string => key.slice(0, key.lastIndexOf('.') + 1)
const bySection = (one: EffectiveValue, other: EffectiveValue): number =>
  sectionOf(one) < sectionOf(other) ? -1 : sectionOf(one) > sectionOf(other) ? 1 : 0

function sourceOf({ source, where, reference }: EffectiveValue): string {
  const origin = source === 'default' || where === null ? source : where
  return reference === null ? origin : `${origin} (${reference})`
}
