/** Types that keys of several sections have; each call makes the check anew, so that no schema is made at a start. */
import { z } from 'zod'
import { readDuration } from '../../access/key.ts'
import { valueAt } from '../../lib/json/json-values.ts'
import { dayMs } from '../../lib/clock.ts'
import { proxyProblem, proxySettingHelp } from '../models/proxies.ts'
import { addressProblem, isHeaderText, isModelName } from '../checks/value-checks.ts'

/** Adds a check to `schema`. `problemOf` returns the message, which never shows the value, or undefined. */
export const checkedText = <T extends z.ZodType<string>>(
  schema: T,
  problemOf: (value: string) => string | undefined,
): T =>
  schema.superRefine((value, context) => {
    const message = problemOf(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

/** A text that is not empty. */
export const text = () => z.string().min(1)
/** The id of an object of the API. */
export const id = () => z.string().min(1).max(255)
/** Seconds, up to a day. */
export const seconds = () => z.number().positive().max(86_400)
/** A whole number of at least 1. */
export const count = () => z.number().int().min(1).max(1_000_000_000)
/** A whole number up to `most`. */
export const countUpTo = (most: number) => z.number().int().min(0).max(most)
/** In dollars, up to what the API takes (access/fields/money.ts); more than nine million count as nine million. */
export const budgetUsd = () => z.number().min(0).max(1_000_000_000)
/** A map with values of any kind. */
export const openMap = () => z.record(z.string(), z.unknown())
/** One value, or a list of up to `most`. */
export const oneOrMore = <T extends z.ZodType>(one: T, most: number) => z.union([one, z.array(one).min(1).max(most)])

/** Whether the entries of a list have each another value of a key, which the schema requires. */
export const isDistinctBy = (key: string) => (list: readonly unknown[]) =>
  new Set(list.map(one => valueAt(one, [key]))).size === list.length

const noHeaderText = 'has a line break or another character that no header can carry'
/** A text that a header can carry. */
export const headerText = () => text().refine(isHeaderText, noHeaderText)
/** Headers by name; an empty value is one. */
export const headers = <T extends z.ZodType<string, string>>(name: T) =>
  z.record(name, z.string().refine(isHeaderText, noHeaderText))

/** A public name of a model. */
export const modelName = () =>
  text().refine(isModelName, 'must not be blank or have line breaks and other control characters')

/** An address of the web without a user and without a fragment. */
export const httpAddress = () =>
  checkedText(z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }), addressProblem)

/** The URL of a proxy, or false. The message does not show the value, which may hold a password. */
export const proxyAddress = () =>
  z.union([z.literal(false), z.string()], { error: proxySettingHelp }).superRefine((value, context) => {
    const problem = value === false ? undefined : proxyProblem(value)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })

/** A text such as `90d`. */
export const duration = () =>
  checkedText(z.string(), given => {
    const read = readDuration(given)
    return 'problem' in read ? read.problem : undefined
  })

/** The same in whole days, because days are what usage is summed by. */
export const wholeDays = () =>
  z.string().refine(given => {
    const read = readDuration(given)
    return 'ms' in read && read.ms >= dayMs && read.ms % dayMs === 0
  }, 'must be a number of days, weeks or months: 30d, 12w, 6mo')

/** Milliseconds of a text that the check of a duration has taken. */
export function durationMs(given: string): number {
  const read = readDuration(given)
  if ('problem' in read) throw new Error(`a duration was not checked: ${read.problem}`)
  return read.ms
}
