/** How old the texts of keys may become, and who is reminded before. */
import { z } from 'zod'
import { readDuration } from '../../access/key.ts'
import { checkedText } from '../checks/checked-text.ts'

const duration = checkedText(z.string(), text => {
  const read = readDuration(text)
  return 'problem' in read ? read.problem : undefined
})

/** Keys of `general_settings`. */
export const keyAgeSettings = {
  max_key_age: duration
    .optional()
    .describe(
      'How old the text of a key may become: 90d, ...; then it has to be replaced (POST /key/regenerate), and ' +
        'is refused when `key_rotation_grace` is over as well. No limit when left out.',
    ),
  key_rotation_grace: duration
    .optional()
    .describe('How long a text works that should have been replaced, by `max_key_age` or by `rotation_interval`; 7d.'),
  key_reminders: z
    .array(duration)
    .max(5)
    .optional()
    .describe(
      'How long before a key ends, or its text has to be replaced, it is announced, each time once: in the log, to ' +
        "the addresses of `key_alerts`, and by mail to the key's user. 7d and 1d when left out; an empty list = never.",
    ),
}
