/**
 * Fields that LiteLLM's users have dropped: `additional_drop_params`, and `drop_params` where it is a list, as public
 * files write it. Here the list is `additional_drop_params` in both cases.
 */
import { isObject } from '../../lib/json/json-values.ts'
import type { Path } from '../reading/paths.ts'
import type { Finding } from '../reading/reading.ts'

type Section = Readonly<Record<string, unknown>>

/** The file in our names. Paths of parts (`tools[*].strict`) are reported: whole fields are dropped. */
export function withDroppedFields(file: unknown, warnings: Finding[]): unknown {
  if (!isObject(file)) return file
  const inSection = (section: Section, path: Path): Section => withList(section, path, warnings)
  const models = Array.isArray(file.model_list)
    ? {
        model_list: (file.model_list as unknown[]).map((entry, at) =>
          isObject(entry) && isObject(entry.proxy_params)
            ? { ...entry, proxy_params: inSection(entry.proxy_params, ['model_list', at, 'proxy_params']) }
            : entry,
        ),
      }
    : {}
  return {
    ...file,
    ...models,
    ...(isObject(file.settings) && { settings: inSection(file.settings, ['settings']) }),
  }
}

function withList(section: Section, path: Path, warnings: Finding[]): Section {
  const { drop_params: drops, additional_drop_params: more, ...others } = section
  const lists = [drops, more].filter(one => Array.isArray(one)).flat() as unknown[]
  if (lists.length === 0) return section
  const isPath = (name: unknown): boolean => typeof name === 'string' && /[.[\]*]/.test(name)
  const parts = lists.filter(isPath)
  if (parts.length > 0)
    warnings.push({
      path: [...path, 'additional_drop_params'],
      message: `drops whole fields here, not parts: ${parts.join(', ')} are sent`,
      atKey: true,
    })
  return {
    ...others,
    ...(!Array.isArray(drops) && drops !== undefined && { drop_params: drops }),
    additional_drop_params: [...new Set(lists.filter(one => !isPath(one)))],
  }
}
