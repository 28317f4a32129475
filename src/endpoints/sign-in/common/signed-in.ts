/** What every way to sign in answers. */
import { dateTime, described, named, nullable, shape, text } from '../../openapi/schema.ts'

/** A session has begun; `redirect_url` is where a browser goes on. */
export const signedInSchema = named('SignedIn', () =>
  shape({
    redirect_url: text,
    user_id: described('The user who has signed in; null = the operator.', nullable(text)),
    session_id: text,
    expires_at: dateTime,
  }),
)
