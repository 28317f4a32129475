/** Reads and builds in one step, in this thread: for commands that end soon. */
import { readConfig } from './reading/parse.ts'
import { settingsFrom } from './settings.ts'
import type { SettingsInput, SettingsReading } from './settings.ts'

interface TextInput extends Omit<SettingsInput, 'reading'> {
  /** Absent = no configuration file. */
  readonly text?: string | undefined
  /** true = variables that are not set are no mistakes, and what refers to them is not checked. */
  readonly anyVariables?: boolean
}

/** See `settingsFrom`. */
export function readSettings({ text, anyVariables, ...input }: TextInput): SettingsReading {
  const { file = 'config.yaml', environment, secrets } = input
  const options = { file, environment, anyVariables, secrets: secrets?.known }
  return settingsFrom({ ...input, reading: text === undefined ? undefined : readConfig(text, options) })
}
