/** The parameters of an entry of `model_list` as they may be shown. */
import type { SettingKey } from '../../core/setting-keys.ts'
import { maskedValue } from '../effective/masked.ts'
import { modelParamKeys } from '../sections/model-params.ts'

type Fields = Readonly<Record<string, unknown>>
const keys: Readonly<Record<string, SettingKey | undefined>> = modelParamKeys

/** As they were set, without those that are secret; secrets inside of others are masked. */
export function shownParams(params: Fields): Fields {
  const open = Object.entries(params).filter(([name, value]) => keys[name]?.secret !== 'whole' && value !== undefined)
  return Object.fromEntries(open.map(([name, value]) => [name, maskedValue(value, keys[name]?.secret)]))
}
