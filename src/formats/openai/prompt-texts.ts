/** Texts or token ids, as `prompt` and `input` take them. */
import type { Path, ProblemList } from '../common/field-checks.ts'

/** What differs between `prompt` and `input`. */
interface TextsRule {
  readonly field: string
  /** Texts a call. */
  readonly most: number
  readonly emptyAllowed: boolean
}

const kinds = 'a string, an array of strings, or token ids'

/** A string, strings, token ids, or arrays of token ids: one kind a call. */
export function checkTexts(rule: TextsRule, value: unknown, problems: ProblemList): void {
  const { field, most, emptyAllowed } = rule
  if (value === '' && !emptyAllowed) return problems.outOfRange([field], 'a string that is not empty', value)
  if (typeof value === 'string') return
  if (!Array.isArray(value)) return problems.wrong([field], kinds, value)
  if (value.length === 0) return problems.add([field], `\`${field}\` must not be empty; send ${kinds}`, 'out_of_range')
  const [first] = value as unknown[]
  if (typeof first === 'number') return checkTokens([field], value, problems)
  if (value.length > most)
    problems.add([field], `\`${field}\` must have at most ${most} entries; got ${value.length}`, 'out_of_range')
  for (let at = 0; at < value.length && !problems.full; at++) {
    const item: unknown = value[at]
    if (Array.isArray(first)) {
      if (!Array.isArray(item)) problems.wrong([field, at], 'an array of token ids like the first entry', item)
      else if (item.length === 0) problems.outOfRange([field, at], 'at least one token id', item)
      else checkTokens([field, at], item, problems)
    } else if (typeof item !== 'string') problems.wrong([field, at], 'a string', item)
    else if (item === '' && !emptyAllowed) problems.outOfRange([field, at], 'a string that is not empty', item)
  }
}

/** Token ids are integers from 0; above 2^31 no vocabulary reaches. */
function checkTokens(path: Path, tokens: readonly unknown[], problems: ProblemList): void {
  for (let at = 0; at < tokens.length && !problems.full; at++) {
    const token = tokens[at]
    if (typeof token !== 'number') problems.wrong([...path, at], 'a token id (an integer)', token)
    else if (!Number.isInteger(token) || token < 0 || token >= 2 ** 31)
      problems.outOfRange([...path, at], 'a token id (an integer from 0)', token)
  }
}
