/** A dialog that makes a tenant object. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { toast } from '../overlays/toast.tsx'
import { CreateDialog } from '../overlays/create-dialog.tsx'
import { cleaned, problemsOf } from './edit-form.tsx'
import { ObjectFields } from './object-fields.tsx'
import { formFields } from './object-forms.ts'
import type { FieldName, FormPart, ObjectKind, ObjectValues } from './object-forms.ts'

interface CreateObjectProps<Kind extends ObjectKind, Made> {
  readonly object: Kind
  readonly title: string
  readonly description?: string
  /** Fields that are not asked for here. */
  readonly without?: readonly FieldName[]
  /** Values from the start. */
  readonly initial?: ObjectValues<Kind>
  /** Parts that are open from the start. */
  readonly open?: readonly FormPart[]
  /** What is needed was typed. */
  readonly isReady?: (values: ObjectValues<Kind>) => boolean
  readonly make: (values: ObjectValues<Kind>) => Promise<Made>
  /** The first word of the queries that show such objects. */
  readonly queryKey: string
  /** What is said when it was made. */
  readonly told: (made: Made) => string
  readonly onClose: () => void
  readonly onMade: (made: Made) => void
  /** Names of fields that `children` has. */
  readonly ownFields?: readonly string[]
  /** Fields behind those that are always asked for. */
  readonly further?: ReactNode
  /** Fields before those of the table: an id. */
  readonly children?: (problem: (name: string) => string | null) => ReactNode
}

/** Every field of the object that a person sets; what is not typed is not sent. */
export function CreateObject<Kind extends ObjectKind, Made>(props: CreateObjectProps<Kind, Made>) {
  const { object, title, description, make, queryKey, told, onClose, onMade, children } = props
  const { without = [], ownFields = [], initial = {}, open = ['limits'], isReady = () => true } = props
  const client = useQueryClient()
  const [values, setValues] = useState<ObjectValues<Kind>>(initial)
  const create = useMutation({
    mutationFn: () => make(withoutBlanks(cleaned(values))),
    onSuccess: made => {
      toast(told(made))
      void client.invalidateQueries({ queryKey: [queryKey] })
      onClose()
      onMade(made)
    },
  })
  const offered = formFields(object).filter(name => !without.includes(name))
  const { problem } = problemsOf(create.error, offered)
  return (
    <CreateDialog
      onClose={onClose}
      title={title}
      {...(description !== undefined && { description })}
      isReady={isReady(values)}
      create={create}
      fields={[...ownFields, ...offered]}
    >
      {children?.(problem)}
      <ObjectFields
        object={object}
        offered={offered}
        values={values}
        problem={problem}
        onChange={change => setValues(before => ({ ...before, ...change }))}
        open={open}
        further={props.further}
      />
    </CreateDialog>
  )
}

/** Without what says nothing: what a new object has anyway. */
export function withoutBlanks<Kind extends ObjectKind>(values: ObjectValues<Kind>): ObjectValues<Kind> {
  const says = (value: unknown) =>
    value !== null && value !== undefined && (typeof value !== 'object' || Object.keys(value).length > 0)
  return Object.fromEntries(Object.entries(values).filter(([, value]) => says(value))) as ObjectValues<Kind>
}

/** Whether a text was typed: names that are needed. */
export const isTyped = (value: string | null | undefined): boolean => (value ?? '').trim() !== ''
