/** Checks of texts with messages of their own. */
import type { z } from 'zod'

/** Adds a check with its own message. The message never shows the value. */
export const ruled = <T extends z.ZodType<string>>(schema: T, problemOf: (value: string) => string | undefined): T =>
  schema.superRefine((value, context) => {
    const message = problemOf(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
