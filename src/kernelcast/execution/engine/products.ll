; What products of matrices are made of. `products.py` turns this text into functions of LLVM IR: it
; replaces names after a `$` by types and numbers, and takes a function as often as there are types.

; Numbers of rows of a, or columns of b, from the words in registers: eight rows in a group.
define internal void @fragment.$TYPE(ptr %from, ptr %to, i64 %groups, i64 %depth, i64 %row_step, i64 %depth_step) {
entry:
  %rows = shl i64 %groups, 3
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]
  %g = and i64 %r, 7
  %h = lshr i64 %r, 3
  %lane.bytes = mul i64 %g, $PART_BYTES
  %to.row = mul i64 %r, %row_step
  br label %number
number:
  %k = phi i64 [ 0, %row ], [ %k.next, %number ]
  %part = udiv i64 %k, $PART_NUMBERS
  %within = urem i64 %k, $PART_NUMBERS
  %before = mul i64 %part, %groups
  %register = add i64 %before, %h
  %register.bytes = mul i64 %register, $REGISTER_BYTES
  %within.bytes = mul i64 %within, $NUMBER_BYTES
  %o.lane = add i64 %register.bytes, %lane.bytes
  %o = add i64 %o.lane, %within.bytes
  %p = getelementptr i8, ptr %from, i64 %o
  $DECODE
  %to.k = mul i64 %k, %depth_step
  %to.number = add i64 %to.row, %to.k
  %q = getelementptr $KIND, ptr %to, i64 %to.number
  store $KIND %x, ptr %q
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %depth
  br i1 %more, label %number, label %row.end
row.end:
  %r.next = add i64 %r, 1
  %more.rows = icmp ult i64 %r.next, %rows
  br i1 %more.rows, label %row, label %done
done:
  ret void
}

; Numbers of a matrix in shared memory of %limit bytes, as the descriptor %d says. The first address
; that lies outside; -1 where none does.
define internal i64 @matrix.$TYPE(ptr %shared, i64 %limit, i64 %d, i64 %line, i64 %lines, i64 %unit, i64 %units, i1 %across, ptr %to, i64 %line_step, i64 %number_step) {
entry:
  %start.units = and i64 %d, $FIELD
  %start = mul i64 %start.units, $UNIT_BYTES
  %leading.at = lshr i64 %d, $LEADING_SHIFT
  %leading.units = and i64 %leading.at, $FIELD
  %leading = mul i64 %leading.units, $UNIT_BYTES
  %stride.at = lshr i64 %d, $STRIDE_SHIFT
  %stride.units = and i64 %stride.at, $FIELD
  %stride = mul i64 %stride.units, $UNIT_BYTES
  %base.at = lshr i64 %d, $BASE_SHIFT
  %base = and i64 %base.at, 7
  %mode = lshr i64 %d, $MODE_SHIFT
  %is_plain = icmp eq i64 %mode, 0
  %swizzled = lshr i64 16, %mode
  %wide = select i1 %is_plain, i64 1, i64 %swizzled
  %last.unit = sub i64 %wide, 1
  %swap = and i1 %is_plain, %across
  %next_lines = select i1 %swap, i64 %leading, i64 %stride
  %next_units = select i1 %swap, i64 %stride, i64 %leading
  br label %line.head
line.head:
  %l = phi i64 [ 0, %entry ], [ %l.next, %line.end ]
  %at.line = add i64 %line, %l
  %in.tile = and i64 %at.line, 7
  %tile = lshr i64 %at.line, 3
  %line.first = mul i64 %in.tile, %wide
  %tile.bytes = mul i64 %tile, %next_lines
  %to.line = mul i64 %l, %line_step
  br label %unit.head
unit.head:
  %u = phi i64 [ 0, %line.head ], [ %u.next, %unit.end ]
  %at.unit = add i64 %unit, %u
  %in.line = and i64 %at.unit, %last.unit
  %tile.across = udiv i64 %at.unit, %wide
  %across.bytes = mul i64 %tile.across, %next_units
  %in.units = add i64 %line.first, %in.line
  %in.bytes = mul i64 %in.units, $UNIT_BYTES
  %a.tile = add i64 %start, %tile.bytes
  %a.across = add i64 %a.tile, %across.bytes
  %plain = add i64 %a.across, %in.bytes
  %row = lshr i64 %plain, $ROW_SHIFT
  %row.pattern = sub i64 %row, %base
  %pattern = and i64 %row.pattern, %last.unit
  %pattern.bytes = mul i64 %pattern, $UNIT_BYTES
  %address = xor i64 %plain, %pattern.bytes
  %end = add i64 %address, $UNIT_BYTES
  %outside = icmp ugt i64 %end, %limit
  %from = getelementptr i8, ptr %shared, i64 %address
  %unit.number = mul i64 %u, $UNIT_NUMBERS
  br i1 %outside, label %bad, label %number
number:
  %n = phi i64 [ 0, %unit.head ], [ %n.next, %number ]
  %n.bytes = mul i64 %n, $NUMBER_BYTES
  %p = getelementptr i8, ptr %from, i64 %n.bytes
  $DECODE
  %at.number = add i64 %unit.number, %n
  %to.n = mul i64 %at.number, %number_step
  %to.number = add i64 %to.line, %to.n
  %q = getelementptr $KIND, ptr %to, i64 %to.number
  store $KIND %x, ptr %q
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, $UNIT_NUMBERS
  br i1 %more, label %number, label %unit.end
unit.end:
  %u.next = add i64 %u, 1
  %more.units = icmp ult i64 %u.next, %units
  br i1 %more.units, label %unit.head, label %line.end
line.end:
  %l.next = add i64 %l, 1
  %more.lines = icmp ult i64 %l.next, %lines
  br i1 %more.lines, label %line.head, label %done
done:
  ret i64 -1
bad:
  ret i64 %address
}

; The other sign for floats.
define internal void @negate(ptr %numbers, i64 %count) {
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %next, %head ]
  %p = getelementptr float, ptr %numbers, i64 %n
  %x = load float, ptr %p
  %y = fneg float %x
  store float %y, ptr %p
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %head, label %done
done:
  ret void
}

; Sums plus a times b, in order of the depth; eight columns at a time.
define internal void @multiply.$KIND(ptr %a, ptr %b, ptr %sums, i64 %rows, i64 %columns, i64 %depth) {
entry:
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]
  %a.row = mul i64 %r, %depth
  %s.row = mul i64 %r, %columns
  br label %column
column:
  %c = phi i64 [ 0, %row ], [ %c.next, %column.end ]
  %s.at = add i64 %s.row, %c
  %s = getelementptr $KIND, ptr %sums, i64 %s.at
  %old = load <8 x $KIND>, ptr %s, align $KIND_BYTES
  br label %term
term:
  %k = phi i64 [ 0, %column ], [ %k.next, %term ]
  %sum = phi <8 x $KIND> [ %old, %column ], [ %new, %term ]
  %a.at = add i64 %a.row, %k
  %a.p = getelementptr $KIND, ptr %a, i64 %a.at
  %x = load $KIND, ptr %a.p
  %x.one = insertelement <8 x $KIND> poison, $KIND %x, i32 0
  %xs = shufflevector <8 x $KIND> %x.one, <8 x $KIND> poison, <8 x i32> zeroinitializer
  %b.row = mul i64 %k, %columns
  %b.at = add i64 %b.row, %c
  %b.p = getelementptr $KIND, ptr %b, i64 %b.at
  %ys = load <8 x $KIND>, ptr %b.p, align $KIND_BYTES
  $ADD
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %depth
  br i1 %more, label %term, label %column.end
column.end:
  store <8 x $KIND> %new, ptr %s, align $KIND_BYTES
  %c.next = add i64 %c, 8
  %more.columns = icmp ult i64 %c.next, %columns
  br i1 %more.columns, label %column, label %row.end
row.end:
  %r.next = add i64 %r, 1
  %more.rows = icmp ult i64 %r.next, %rows
  br i1 %more.rows, label %row, label %done
done:
  ret void
}

; Between sums in registers and rows of sums.
define internal void @sums.$SUMS(ptr %registers, ptr %sums, i64 %groups, i64 %columns, i1 %back) {
entry:
  %rows = shl i64 %groups, 3
  br label %row
row:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]
  %h = lshr i64 %r, 3
  %g = and i64 %r, 7
  %g.lane = shl i64 %g, 2
  %to.row = mul i64 %r, %columns
  br label %column
column:
  %c = phi i64 [ 0, %row ], [ %c.next, %column.end ]
  %block = lshr i64 %c, 3
  %in.block = and i64 %c, 7
  %t = lshr i64 %in.block, 1
  %odd = and i64 %c, 1
  %lane = add i64 %g.lane, %t
  %before = mul i64 %block, %groups
  %pair = add i64 %before, %h
  %o.pair = shl i64 %pair, 6
  %o.odd = mul i64 %odd, $ODD_STEP
  %o.lane = mul i64 %lane, $LANE_STEP
  %o.both = add i64 %o.odd, %o.lane
  %o = add i64 %o.pair, %o.both
  %p = getelementptr $STORED, ptr %registers, i64 %o
  %to.column = add i64 %to.row, %c
  %q = getelementptr $KIND, ptr %sums, i64 %to.column
  br i1 %back, label %store, label %load
load:
  %in = load $STORED, ptr %p
  $WIDEN
  store $KIND %wide, ptr %q
  br label %column.end
store:
  %out = load $KIND, ptr %q
  $NARROW
  store $STORED %narrow, ptr %p
  br label %column.end
column.end:
  %c.next = add i64 %c, 1
  %more = icmp ult i64 %c.next, %columns
  br i1 %more, label %column, label %row.end
row.end:
  %r.next = add i64 %r, 1
  %more.rows = icmp ult i64 %r.next, %rows
  br i1 %more.rows, label %row, label %done
done:
  ret void
}
