/** Texts of the configuration whose check has a message of its own. */
import type { z } from 'zod'

/** Adds a check to `schema`. `problemOf` returns the message, which never shows the value, or undefined. */
export const checkedText = <T extends z.ZodType<string>>(
  schema: T,
  problemOf: (value: string) => string | undefined,
): T =>
  schema.superRefine((value, context) => {
    const message = problemOf(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
