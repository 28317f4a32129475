/** What may stand in the head of a response (RFC 9110). */

/** Final statuses that may have a body: 200 to 599 except 204, 205 and 304. */
export function isAnswerStatus(value: unknown): value is number {
  if (typeof value !== 'number' || !Number.isInteger(value)) return false
  return value >= 200 && value <= 599 && ![204, 205, 304].includes(value)
}

/** Describes what `isAnswerStatus` accepts, for error messages that end in "must be ...". */
export const answerStatuses = 'a status from 200 to 599 that may have a body (not 204, 205 or 304)'

const namePattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** A token (RFC 9110, 5.6.2). */
export const isHeaderName = (value: string): boolean => namePattern.test(value)

/** Visible ASCII with inner spaces and tabs. */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e]*$/.test(value)
