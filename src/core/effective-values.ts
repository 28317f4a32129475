/** What holds in this process, setting by setting, and where each value comes from. */

/** What a setting is about; the order is that of lists. */
export const settingGroups = [
  'general',
  'routing',
  'limits',
  'sign-in',
  'mail',
  'retention',
  'cache',
  'prices',
  'agents',
  'providers',
] as const
/** One of `settingGroups`. */
export type SettingGroup = (typeof settingGroups)[number]

/**
 * Where a value comes from. `file` = the configuration file, `environment` = a variable of the process, `flag` = the
 * command line, `api` = it was set by API, `stored` = made by the gateway and kept in its database, `default` = nothing
 * sets it.
 */
export type SettingSource = 'file' | 'environment' | 'flag' | 'api' | 'stored' | 'default'

/** A setting with the value that holds, and where it comes from. */
export interface EffectiveValue {
  /** The path in the file, `general_settings.header_prefix`, or the name of a variable, `PORT`. */
  readonly key: string
  readonly group: SettingGroup
  /** JSON. Secrets are masked. null = it is not set, and there is no default. */
  readonly value: unknown
  readonly source: SettingSource
  /** `config.yaml:12`, the name of a variable, or a flag; null = there is no such place. */
  readonly where: string | null
  /** The reference that stands in the file for the value, `os.environ/NAME`; null = the value itself. */
  readonly reference: string | null
  readonly isSecret: boolean
  /** In English, as in docs/configuration.md. */
  readonly description: string
}
