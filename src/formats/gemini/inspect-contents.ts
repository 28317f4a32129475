/** Checks of `contents` that need no model (ai.google.dev/api/caching, "Content" and "Part"). */
import { isMistyped } from '../../core/hub/media-parts.ts'
import { isObject, objectOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Path, ProblemList } from '../common/field-checks.ts'
import { camel, checkSpelling, entryPath, listOrOne } from './json-names.ts'

const roles: ReadonlySet<unknown> = new Set(['user', 'model', 'function'])
/** One of these is what a part is; other kinds are left to the upstream. */
export const partKinds = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
] as const
const contentExample = '{"role": "user", "parts": [{"text": ...}]}'

/** A list of contents or one without its brackets, looked into until `problems` is full. */
export function checkContents(value: unknown, problems: ProblemList): void {
  const list = listOrOne(value)
  if (list.length === 0)
    return problems.add(['contents'], `\`contents\` must not be empty; send [${contentExample}]`, 'out_of_range')
  for (let at = 0; at < list.length && !problems.full; at++)
    checkContent(list[at], entryPath(['contents'], value, at), problems)
}

/** One content; its role may be left out. */
export function checkContent(value: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(path, `an object such as ${contentExample}`, value)
  const { role, parts } = value
  if (role !== undefined && role !== null && role !== '' && !roles.has(role)) {
    const hint = role === 'system' ? '; instructions go into `systemInstruction`' : ''
    problems.unknownValue([...path, 'role'], `"user" or "model"${hint}`, role)
  }
  const list = listOrOne(parts)
  for (let at = 0; at < list.length && !problems.full; at++)
    checkPart(list[at], entryPath([...path, 'parts'], parts, at), problems)
}

function checkPart(value: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(path, 'an object such as {"text": "..."}', value)
  checkSpelling(value, path, problems)
  const part = camel(value)
  if (Object.keys(part).length === 0)
    return problems.add(
      path,
      'a part must hold something: `text`, `inlineData`, `functionCall` or another kind',
      'missing',
    )
  const kinds = partKinds.filter(kind => part[kind] !== undefined && part[kind] !== null)
  if (kinds.length > 1)
    problems.add(
      path,
      `a part holds one thing; this one has ${kinds.join(' and ')}: make several parts of it`,
      'invalid',
    )
  for (const kind of kinds) checkKind(kind, part[kind], [...path, kind], problems)
  if (part.thought != null && typeof part.thought !== 'boolean')
    problems.wrong([...path, 'thought'], 'true or false', part.thought)
  if (part.thoughtSignature != null && typeof part.thoughtSignature !== 'string')
    problems.wrong([...path, 'thoughtSignature'], 'a string (base64)', part.thoughtSignature)
}

/** The fields that each kind needs, all texts. */
const needs: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries<readonly string[]>({
    inlineData: ['mimeType', 'data'],
    fileData: ['fileUri'],
    functionCall: ['name'],
    functionResponse: ['name'],
  }),
)

function noteMistyped({ mimeType, data }: Json, problems: ProblemList): void {
  if (typeof mimeType === 'string' && typeof data === 'string' && isMistyped(mimeType, data))
    problems.misplacedMedia = true
}

function checkKind(kind: string, value: unknown, path: Path, problems: ProblemList): void {
  if (kind === 'text') {
    if (typeof value !== 'string') problems.wrong(path, 'a string', value)
    return
  }
  if (!isObject(value)) return problems.wrong(path, 'an object', value)
  checkSpelling(value, path, problems)
  const fields = camel(value)
  if (kind === 'inlineData') noteMistyped(fields, problems)
  if (kind === 'functionResponse')
    for (const part of listOrOne(fields.parts))
      if (isObject(part)) noteMistyped(camel(objectOf(camel(part).inlineData)), problems)
  for (const name of needs.get(kind) ?? [])
    if (typeof fields[name] !== 'string' || fields[name] === '')
      problems.wrong([...path, name], 'a string that is not empty', fields[name])
  if (kind === 'functionCall') checkStruct(fields, 'args', path, problems)
  if (kind === 'functionResponse') checkStruct(fields, 'response', path, problems)
}

function checkStruct(fields: Json, name: string, path: Path, problems: ProblemList): void {
  if (fields[name] != null && !isObject(fields[name])) problems.wrong([...path, name], 'an object', fields[name])
}
