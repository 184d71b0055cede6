; The loop over blocks and warps, the slow path of address checks, and what seldom happens of an
; access. The rules it follows are those
; of docs/execution.md, "Order" and "Barriers". `driver.py` turns this text into LLVM IR: it replaces
;   %x = slot KIND NAME    by a load from a slot of the context
;   slot NAME = %x         by a store to one
;   $NAME, $Enum.NAME      by a number
; and leaves out lines that end in "; log" where nobody follows the run.
; Blocks are claimed a cluster at a time: without clusters, one by one. As many clusters as the
; thread has seats for run at a time; they take turns, a round for each of their blocks, and where
; one has ended the next takes its seat. Of the slots from FIRST_OF_OWN on each block has its own.
define i32 @run(ptr %ctx) {
entry:
  %block_count = slot i64 BLOCK_COUNT
  %next_block = slot ptr NEXT_BLOCK
  %cluster = slot i64 CLUSTER_BLOCKS
  %seats = slot i64 SEATS
  %seat_states = slot ptr SEAT_STATES
  %is_followed = slot i64 IS_FOLLOWED
  %seats_blocks = mul i64 %seats, %cluster
  %is_alone = icmp eq i64 %seats_blocks, 1
  %nobody_follows = icmp eq i64 %is_followed, 0
  %leaves_log = or i1 %is_alone, %nobody_follows
  br label %pass

pass:
  %waited = phi i64 [ 0, %entry ], [ 0, %going_on ], [ %waited_now, %waits ], [ %waited_now, %give_way ]
  br label %seat_head

seat_head:
  %seat = phi i64 [ 0, %pass ], [ %seat_next, %seat_done ]
  %taken = phi i64 [ 0, %pass ], [ %taken_now, %seat_done ]
  %moved = phi i32 [ 0, %pass ], [ %moved_now, %seat_done ]
  %first = mul i64 %seat, %cluster
  %state_p = getelementptr i32, ptr %seat_states, i64 %seat
  %state = load i32, ptr %state_p
  switch i32 %state, label %seat_done [
    i32 $SeatState.FREE, label %claim
    i32 $SeatState.TAKEN, label %ranks
  ]

claim:
  %k = atomicrmw add ptr %next_block, i64 %cluster seq_cst
  %more = icmp ult i64 %k, %block_count
  br i1 %more, label %begin_head, label %close
close:
  store i32 $SeatState.CLOSED, ptr %state_p
  br label %seat_done
begin_head:
  %b = phi i64 [ 0, %claim ], [ %b_next, %begin_head ]
  %b_place = add i64 %first, %b
  call void @turn_to(ptr %ctx, i64 %b_place)
  %number = add i64 %k, %b
  call void @begin_block(ptr %ctx, i64 %number)
  %b_next = add i64 %b, 1
  %more_to_begin = icmp ult i64 %b_next, %cluster
  br i1 %more_to_begin, label %begin_head, label %begun
begun:
  store i32 $SeatState.TAKEN, ptr %state_p
  br label %ranks

ranks:
  br label %rank_head
rank_head:
  %q = phi i64 [ 0, %ranks ], [ %q_next, %rank_next ]
  %left = phi i64 [ 0, %ranks ], [ %left_now, %rank_next ]
  %moved_here = phi i32 [ 0, %ranks ], [ %moved_then, %rank_next ]
  %place = add i64 %first, %q
  call void @turn_to(ptr %ctx, i64 %place)
  %before = slot i64 WARP_INSTRUCTIONS
  slot ROUND_START = %before
  %result = call i32 @round(ptr %ctx)
  %after = slot i64 WARP_INSTRUCTIONS
  %executed_before = slot i64 EXECUTED
  %executed_here = sub i64 %after, %before
  %executed = add i64 %executed_before, %executed_here
  %stop_bit = and i32 %result, $RoundResult.STOPPED
  %has_stopped = icmp ne i32 %stop_bit, 0
  br i1 %has_stopped, label %stopped, label %rank_next

rank_next:
  slot EXECUTED = %executed
  %left_here = slot i64 LEFT
  %left_now = add i64 %left, %left_here
  %moved_then = or i32 %moved_here, %result
  %q_next = add i64 %q, 1
  %more_turns = icmp ult i64 %q_next, %cluster
  br i1 %more_turns, label %rank_head, label %ranks_done

ranks_done:
  %none_left = icmp eq i64 %left_now, 0
  br i1 %none_left, label %cluster_done, label %meet

meet:
  %crossed = call i32 @release_cluster(ptr %ctx, i64 %first)
  %moved_crossed = or i32 %moved_then, %crossed
  %progress = icmp ne i32 %moved_crossed, 0
  br i1 %progress, label %seat_done, label %deadlock

cluster_done:
  store i32 $SeatState.FREE, ptr %state_p
  br i1 %leaves_log, label %handed_over, label %hand_over
; Who follows is given one block after the other.
hand_over:
  %one = add i64 0, 1
  slot CLUSTER_IS_DONE = %one
  br label %hand_head
hand_head:
  %h = phi i64 [ 0, %hand_over ], [ %h_next, %handed ]
  %h_place = add i64 %first, %h
  call void @turn_to(ptr %ctx, i64 %h_place)
  %drained = call i32 @drain(ptr %ctx)
  %bad = icmp ne i32 %drained, 0
  br i1 %bad, label %stopped, label %handed
handed:
  %h_next = add i64 %h, 1
  %more_to_hand = icmp ult i64 %h_next, %cluster
  br i1 %more_to_hand, label %hand_head, label %all_handed
all_handed:
  %zero = add i64 0, 0
  slot CLUSTER_IS_DONE = %zero
  br label %handed_over
handed_over:
  br label %seat_done

seat_done:
  %moved_seat = phi i32 [ 0, %seat_head ], [ 0, %close ], [ %moved_crossed, %meet ],
                        [ $RoundResult.RELEASED, %handed_over ]
  %is_taken = phi i64 [ 0, %seat_head ], [ 0, %close ], [ 1, %meet ], [ 1, %handed_over ]
  %moved_now = or i32 %moved, %moved_seat
  %taken_now = add i64 %taken, %is_taken
  %seat_next = add i64 %seat, 1
  %more_seats = icmp ult i64 %seat_next, %seats
  br i1 %more_seats, label %seat_head, label %pass_done

pass_done:
  slot SEATS_TAKEN = %taken_now
  %none_taken = icmp eq i64 %taken_now, 0
  br i1 %none_taken, label %finished, label %going_on

; Where all that goes on has paused, it waits for what another thread of the CPU does: now and then
; the system may run that, or whatever else there is, which takes milliseconds where much is.
going_on:
  %released = and i32 %moved_now, $RoundResult.RELEASED
  %only_paused = icmp eq i32 %released, 0
  br i1 %only_paused, label %waits, label %pass
waits:
  %waited_now = add i64 %waited, 1
  %since = and i64 %waited_now, $WAITS_MASK
  %is_due = icmp eq i64 %since, 0
  br i1 %is_due, label %give_way, label %pass
give_way:
  %yielded = call i32 @sched_yield()
  br label %pass

finished:
  ret i32 $RunResult.DONE
stopped:
  ret i32 $RunResult.STOPPED

; The first block of the cluster with warps that are left is the one to be named.
deadlock:
  %p = phi i64 [ %first, %meet ], [ %p_next, %look ]
  call void @turn_to(ptr %ctx, i64 %p)
  %stuck = slot i64 LEFT
  %is_stuck = icmp ne i64 %stuck, 0
  br i1 %is_stuck, label %found, label %look
look:
  %p_next = add i64 %p, 1
  br label %deadlock
found:
  ret i32 $RunResult.DEADLOCK
}

; Let another block run: what each has of its own changes places.
define internal void @turn_to(ptr %ctx, i64 %to) {
entry:
  %now = slot i64 PLACE
  %is_here = icmp eq i64 %now, %to
  br i1 %is_here, label %done, label %change
change:
  %places = slot ptr PLACES
  %own = getelementptr i64, ptr %ctx, i64 $FIRST_OF_OWN
  %now_at = mul i64 %now, $OWN_BYTES
  %now_p = getelementptr i8, ptr %places, i64 %now_at
  call void @llvm.memcpy.p0.p0.i64(ptr %now_p, ptr %own, i64 $OWN_BYTES, i1 false)
  %to_at = mul i64 %to, $OWN_BYTES
  %to_p = getelementptr i8, ptr %places, i64 %to_at
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %to_p, i64 $OWN_BYTES, i1 false)
  br label %done
done:
  ret void
}

define internal void @begin_block(ptr %ctx, i64 %k) {
  %blocks = slot ptr BLOCKS
  %gx = slot i64 GRID_X
  %gy = slot i64 GRID_Y
  %warps = slot i64 WARPS
  %smem = slot ptr SHARED
  %smem_bytes = slot i64 SHARED_BYTES
  %status = slot ptr STATUS
  %arrivals = slot ptr ARRIVED_AT_CLUSTER
  %status_bytes = shl i64 %warps, 2
  %arrived_p = getelementptr i64, ptr %ctx, i64 $BarrierArray.ARRIVED
  %gxy = mul i64 %gx, %gy
  %index_p = getelementptr i64, ptr %blocks, i64 %k
  %index = load i64, ptr %index_p
  slot BLOCK_INDEX = %index
  %cx = urem i64 %index, %gx
  %row = udiv i64 %index, %gx
  %cy = urem i64 %row, %gy
  %cz = udiv i64 %index, %gxy
  slot CTA_X = %cx
  slot CTA_Y = %cy
  slot CTA_Z = %cz
  %clx = slot i64 CLUSTER_X
  %cly = slot i64 CLUSTER_Y
  %clz = slot i64 CLUSTER_Z
  %rx = urem i64 %cx, %clx
  %ry = urem i64 %cy, %cly
  %rz = urem i64 %cz, %clz
  slot RANK_X = %rx
  slot RANK_Y = %ry
  slot RANK_Z = %rz
  slot LEFT = %warps
  %none = add i64 0, 0
  slot EXECUTED = %none
  call void @llvm.memset.p0.i64(ptr %smem, i8 0, i64 %smem_bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %status, i8 $WarpStatus.FRESH, i64 %status_bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %arrivals, i8 $Arrival.NONE, i64 %status_bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %arrived_p, i8 0, i64 $BARRIER_BYTES, i1 false)
  ret void
}

; A turn for each warp of the block that can run; then its complete barriers release theirs.
define internal i32 @round(ptr %ctx) {
round:
  %warps = slot i64 WARPS
  %index = slot i64 BLOCK_INDEX
  %status = slot ptr STATUS
  %waiting_at = slot ptr WAITING_AT
  %arrivals = slot ptr ARRIVED_AT_CLUSTER
  %local_of_block = slot i64 LOCAL_OF_BLOCK
  %local_bytes = slot i64 LOCAL_BYTES
  %local_warp_bytes = shl i64 %local_bytes, 5
  %left = slot i64 LEFT
  br label %warp_head

warp_head:
  %w = phi i64 [ 0, %round ], [ %w_next, %warp_next ]
  %left_now = phi i64 [ %left, %round ], [ %left_after, %warp_next ]
  %paused = phi i32 [ 0, %round ], [ %paused_after, %warp_next ]
  %status_p = getelementptr i32, ptr %status, i64 %w
  %s = load i32, ptr %status_p
  %runnable = icmp ult i32 %s, $WarpStatus.WAITING
  br i1 %runnable, label %enter, label %warp_next

enter:
  slot WARP = %w
  %resumed_p = getelementptr i64, ptr %waiting_at, i64 %w
  %resumed = load i64, ptr %resumed_p
  slot BARRIER_RESUMED = %resumed
  %local_start = mul i64 %w, %local_warp_bytes
  %local = add i64 %local_of_block, %local_start
  slot LOCAL = %local
  %pos = slot i64 LOG
  %limit = slot i64 LOG_LIMIT
  %full = icmp ugt i64 %pos, %limit
  br i1 %full, label %drain, label %write_header

drain:
  %drained = call i32 @drain(ptr %ctx)
  %bad = icmp ne i32 %drained, 0
  br i1 %bad, label %stopped, label %enter_drained

enter_drained:
  %pos_drained = slot i64 LOG
  br label %write_header

write_header:
  %at = phi i64 [ %pos, %enter ], [ %pos_drained, %enter_drained ]
  %w_id = shl i64 %w, 32
  %header = or i64 %w_id, $WARP_HEADER
  %at_p = inttoptr i64 %at to ptr
  store i64 %header, ptr %at_p ; log
  %at_1 = getelementptr i64, ptr %at_p, i64 1
  store i64 %index, ptr %at_1 ; log
  %at_next = add i64 %at, 16
  slot LOG = %at_next
  %w32 = trunc i64 %w to i32
  %result = call i32 @warp(ptr %ctx, i64 %w, i32 %s)
  switch i32 %result, label %stopped [
    i32 $WarpResult.DONE, label %warp_exited
    i32 $WarpResult.WAITING, label %warp_waits
    i32 $WarpResult.PAUSED, label %warp_pauses
  ]

warp_exited:
  store i32 $WarpStatus.DONE, ptr %status_p
  %left_less = sub i64 %left_now, 1
  br label %warp_next

warp_waits:
  store i32 $WarpStatus.WAITING, ptr %status_p
  %barrier = slot i64 BARRIER
  %waiting_p = getelementptr i64, ptr %waiting_at, i64 %w
  store i64 %barrier, ptr %waiting_p
  %at_cluster = icmp eq i64 %barrier, $CLUSTER_BARRIER
  br i1 %at_cluster, label %waits_for_cluster, label %waits_for_block

waits_for_block:
  %count = slot i64 BARRIER_COUNT
  call void @arrive(ptr %ctx, i64 %barrier, i64 %count)
  br label %warp_next

; The others may have come to the barrier since the arrival of the warp.
waits_for_cluster:
  %arrival_p = getelementptr i32, ptr %arrivals, i64 %w
  %arrival = load i32, ptr %arrival_p
  %is_complete = icmp eq i32 %arrival, $Arrival.COMPLETE
  br i1 %is_complete, label %passes, label %warp_next

passes:
  store i32 $Arrival.NONE, ptr %arrival_p
  store i32 $WarpStatus.READY, ptr %status_p
  br label %warp_pauses_there

warp_pauses:
  store i32 $WarpStatus.PAUSED, ptr %status_p
  br label %warp_pauses_there

warp_pauses_there:
  br label %warp_next

warp_next:
  %left_after = phi i64 [ %left_now, %warp_head ], [ %left_less, %warp_exited ],
                        [ %left_now, %waits_for_block ], [ %left_now, %waits_for_cluster ],
                        [ %left_now, %warp_pauses_there ]
  %paused_after = phi i32 [ %paused, %warp_head ], [ %paused, %warp_exited ],
                          [ %paused, %waits_for_block ], [ %paused, %waits_for_cluster ],
                          [ $RoundResult.PAUSED, %warp_pauses_there ]
  %w_next = add i64 %w, 1
  %more_warps = icmp ult i64 %w_next, %warps
  br i1 %more_warps, label %warp_head, label %round_done

round_done:
  slot LEFT = %left_after
  %none_left = icmp eq i64 %left_after, 0
  br i1 %none_left, label %block_done, label %again

again:
  %released = call i32 @release(ptr %ctx, i64 %left_after)
  %moved = or i32 %released, %paused_after
  ret i32 %moved
block_done:
  ret i32 0
stopped:
  ret i32 $RoundResult.STOPPED
}

; Where all warps of the cluster that have not exited have come to its barrier, those that wait go
; on, and those that have only arrived need not wait. From the warps of its first block on, in place
; %first, those of all its blocks stand one behind the other.
define internal i32 @release_cluster(ptr %ctx, i64 %first) {
entry:
  call void @turn_to(ptr %ctx, i64 %first)
  %warps = slot i64 WARPS
  %cluster = slot i64 CLUSTER_BLOCKS
  %status = slot ptr STATUS
  %waiting_at = slot ptr WAITING_AT
  %arrivals = slot ptr ARRIVED_AT_CLUSTER
  %all = mul i64 %warps, %cluster
  br label %look
look:
  %w = phi i64 [ 0, %entry ], [ %w_next, %look_next ]
  %some = phi i1 [ false, %entry ], [ %some_now, %look_next ]
  %status_p = getelementptr i32, ptr %status, i64 %w
  %s = load i32, ptr %status_p
  %waiting_p = getelementptr i64, ptr %waiting_at, i64 %w
  %at = load i64, ptr %waiting_p
  %arrival_p = getelementptr i32, ptr %arrivals, i64 %w
  %arrival = load i32, ptr %arrival_p
  %is_done = icmp eq i32 %s, $WarpStatus.DONE
  %is_waiting = icmp eq i32 %s, $WarpStatus.WAITING
  %is_here = icmp eq i64 %at, $CLUSTER_BARRIER
  %waits_here = and i1 %is_waiting, %is_here
  %has_arrived = icmp eq i32 %arrival, $Arrival.ARRIVED
  %has_come = or i1 %waits_here, %has_arrived
  %is_ready = or i1 %is_done, %has_come
  br i1 %is_ready, label %look_next, label %not_yet
look_next:
  %some_now = or i1 %some, %waits_here
  %w_next = add i64 %w, 1
  %more = icmp ult i64 %w_next, %all
  br i1 %more, label %look, label %looked
looked:
  br i1 %some_now, label %wake, label %not_yet
not_yet:
  ret i32 0

wake:
  %v = phi i64 [ 0, %looked ], [ %v_next, %wake ]
  %wake_status_p = getelementptr i32, ptr %status, i64 %v
  %wake_s = load i32, ptr %wake_status_p
  %wake_waiting_p = getelementptr i64, ptr %waiting_at, i64 %v
  %wake_at = load i64, ptr %wake_waiting_p
  %wake_arrival_p = getelementptr i32, ptr %arrivals, i64 %v
  %waits_somewhere = icmp eq i32 %wake_s, $WarpStatus.WAITING
  %waits_at_it = icmp eq i64 %wake_at, $CLUSTER_BARRIER
  %is_asleep = and i1 %waits_somewhere, %waits_at_it
  %is_over = icmp eq i32 %wake_s, $WarpStatus.DONE
  %wake_s_new = select i1 %is_asleep, i32 $WarpStatus.READY, i32 %wake_s
  store i32 %wake_s_new, ptr %wake_status_p
  %has_no_wait = or i1 %is_asleep, %is_over
  %wake_arrival = select i1 %has_no_wait, i32 $Arrival.NONE, i32 $Arrival.COMPLETE
  store i32 %wake_arrival, ptr %wake_arrival_p
  %v_next = add i64 %v, 1
  %more_to_wake = icmp ult i64 %v_next, %all
  br i1 %more_to_wake, label %wake, label %woken
woken:
  ret i32 $RoundResult.RELEASED
}

define void @arrive(ptr %ctx, i64 %barrier, i64 %count) {
  %a = add i64 %barrier, $BarrierArray.ARRIVED
  %arrived_p = getelementptr i64, ptr %ctx, i64 %a
  %old = load i64, ptr %arrived_p
  %new = add i64 %old, 32
  store i64 %new, ptr %arrived_p
  %e = add i64 %barrier, $BarrierArray.EXPECTED
  %expected_p = getelementptr i64, ptr %ctx, i64 %e
  store i64 %count, ptr %expected_p
  ret void
}

define internal i32 @release(ptr %ctx, i64 %left) {
entry:
  %warps = slot i64 WARPS
  %status = slot ptr STATUS
  %waiting_at = slot ptr WAITING_AT
  %all = shl i64 %left, 5
  br label %head
head:
  %b = phi i64 [ 0, %entry ], [ %b_next, %next ]
  %released = phi i32 [ 0, %entry ], [ %released_after, %next ]
  %a = add i64 %b, $BarrierArray.ARRIVED
  %arrived_p = getelementptr i64, ptr %ctx, i64 %a
  %arrived = load i64, ptr %arrived_p
  %e = add i64 %b, $BarrierArray.EXPECTED
  %expected_p = getelementptr i64, ptr %ctx, i64 %e
  %given = load i64, ptr %expected_p
  %unspecified = icmp eq i64 %given, 0
  %expected = select i1 %unspecified, i64 %all, i64 %given
  %some = icmp ne i64 %arrived, 0
  %enough = icmp uge i64 %arrived, %expected
  %complete = and i1 %some, %enough
  br i1 %complete, label %wake, label %next
wake:
  store i64 0, ptr %arrived_p
  store i64 0, ptr %expected_p
  %p = add i64 %b, $BarrierArray.POPULATION
  %population_p = getelementptr i64, ptr %ctx, i64 %p
  %l = add i64 %b, $BarrierArray.LANES
  %lanes_p = getelementptr i64, ptr %ctx, i64 %l
  %pr = add i64 %b, $BarrierArray.POPULATION_RESULT
  %population_r = getelementptr i64, ptr %ctx, i64 %pr
  %lr = add i64 %b, $BarrierArray.LANES_RESULT
  %lanes_r = getelementptr i64, ptr %ctx, i64 %lr
  %population = load i64, ptr %population_p
  store i64 %population, ptr %population_r
  store i64 0, ptr %population_p
  %lanes = load i64, ptr %lanes_p
  store i64 %lanes, ptr %lanes_r
  store i64 0, ptr %lanes_p
  br label %wake_head
wake_head:
  %w = phi i64 [ 0, %wake ], [ %w_next, %wake_next ]
  %woken = phi i32 [ 0, %wake ], [ %woken_after, %wake_next ]
  %status_p = getelementptr i32, ptr %status, i64 %w
  %s = load i32, ptr %status_p
  %waiting_p = getelementptr i64, ptr %waiting_at, i64 %w
  %at = load i64, ptr %waiting_p
  %is_waiting = icmp eq i32 %s, $WarpStatus.WAITING
  %is_here = icmp eq i64 %at, %b
  %both = and i1 %is_waiting, %is_here
  %s_new = select i1 %both, i32 $WarpStatus.READY, i32 %s
  store i32 %s_new, ptr %status_p
  %one = zext i1 %both to i32
  %woken_after = or i32 %woken, %one
  br label %wake_next
wake_next:
  %w_next = add i64 %w, 1
  %more = icmp ult i64 %w_next, %warps
  br i1 %more, label %wake_head, label %woke
woke:
  %released_more = or i32 %released, %woken_after
  br label %next
next:
  %released_after = phi i32 [ %released, %head ], [ %released_more, %woke ]
  %b_next = add i64 %b, 1
  %go = icmp ult i64 %b_next, $BARRIERS
  br i1 %go, label %head, label %done
done:
  ret i32 %released_after
}

; The first block from %start on in which lanes of %unmoved wait; %count where there is none.
define internal i32 @next_to_move(ptr %pending, i32 %start, i32 %count, i32 %unmoved) {
entry:
  br label %head
head:
  %block = phi i32 [ %start, %entry ], [ %next, %look ]
  %more = icmp ult i32 %block, %count
  br i1 %more, label %look, label %found
look:
  %mask_p = getelementptr i32, ptr %pending, i32 %block
  %mask = load i32, ptr %mask_p
  %here = and i32 %mask, %unmoved
  %none = icmp eq i32 %here, 0
  %next = add i32 %block, 1
  br i1 %none, label %head, label %found
found:
  ret i32 %block
}

define internal i32 @drain(ptr %ctx) noinline {
  %f = slot ptr DRAIN
  %r = call i32 %f(ptr %ctx)
  ret i32 %r
}
define internal i32 @resolve(ptr %ctx, i64 %instruction, i32 %mask, ptr %addresses, ptr %hosts,
                             i64 %bytes, i32 %writes, i32 %generic) noinline {
entry:
  %delta = slot i64 GLOBAL_DELTA
  %regions = slot ptr REGIONS
  %region_count = slot i64 REGION_COUNT
  %guesses = slot ptr GUESSES
  %low_bits = sub i64 %bytes, 1
  br label %lane_head

lane_head:
  %rest = phi i32 [ %mask, %entry ], [ %rest_next, %lane_done ]
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %fine, label %lane

lane:
  %l = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %rest_1 = sub i32 %rest, 1
  %rest_next = and i32 %rest, %rest_1
  %address_p = getelementptr i64, ptr %addresses, i32 %l
  %address = load i64, ptr %address_p
  %host_p = getelementptr i64, ptr %hosts, i32 %l
  %misaligned_bits = and i64 %address, %low_bits
  %misaligned = icmp ne i64 %misaligned_bits, 0
  br i1 %misaligned, label %fault_misaligned, label %which

which:
  %is_low = icmp ult i64 %address, $GLOBAL_BASE
  %is_generic = icmp ne i32 %generic, 0
  %windowed = and i1 %is_low, %is_generic
  br i1 %windowed, label %windows, label %search_head

windows:
  %window = and i64 %address, $WINDOW_MASK
  %within = and i64 %address, $WITHIN_MASK
  switch i64 %window, label %in_shared [
    i64 $LOCAL_WINDOW, label %in_local
    i64 $PARAM_WINDOW, label %in_param
  ]

; The blocks of a cluster have windows side by side.
in_shared:
  %shared_of_cluster = slot i64 SHARED_OF_CLUSTER
  %shared_bytes = slot i64 SHARED_BYTES
  %ranks = slot i64 CLUSTER_BLOCKS
  %from_first = sub i64 %window, $SHARED_WINDOW
  %rank = lshr i64 %from_first, $WINDOW_SHIFT
  %is_rank = icmp ult i64 %rank, %ranks
  %shared = add i64 %shared_of_cluster, %from_first
  br i1 %is_rank, label %in_window, label %fault_outside
in_local:
  %local_bytes = slot i64 LOCAL_BYTES
  %local = slot i64 LOCAL
  %l64 = zext i32 %l to i64
  %local_offset = mul i64 %l64, %local_bytes
  %local_lane = add i64 %local, %local_offset
  br label %in_window
in_param:
  %param = slot i64 PARAM
  %param_bytes = slot i64 PARAM_BYTES
  br label %in_window

in_window:
  %window_host = phi i64 [ %shared, %in_shared ], [ %local_lane, %in_local ], [ %param, %in_param ]
  %window_bytes = phi i64 [ %shared_bytes, %in_shared ], [ %local_bytes, %in_local ],
                          [ %param_bytes, %in_param ]
  %window_end = add i64 %within, %bytes
  %window_fits = icmp ule i64 %window_end, %window_bytes
  %window_address = add i64 %window_host, %within
  br i1 %window_fits, label %store_window, label %fault_outside

store_window:
  store i64 %window_address, ptr %host_p
  br label %lane_done

search_head:
  %r = phi i64 [ 0, %which ], [ %r_next, %search_next ]
  %searching = icmp ult i64 %r, %region_count
  br i1 %searching, label %search, label %fault_outside

search:
  %r4 = mul i64 %r, 4
  %first_p = getelementptr i64, ptr %regions, i64 %r4
  %first = load i64, ptr %first_p
  %size_p = getelementptr i64, ptr %first_p, i64 1
  %size = load i64, ptr %size_p
  %writable_p = getelementptr i64, ptr %first_p, i64 2
  %writable = load i64, ptr %writable_p
  %offset = sub i64 %address, %first
  %above = icmp uge i64 %address, %first
  %end = add i64 %offset, %bytes
  %below = icmp ule i64 %end, %size
  %inside = and i1 %above, %below
  br i1 %inside, label %found, label %search_next

search_next:
  %r_next = add i64 %r, 1
  br label %search_head

found:
  %is_write = icmp ne i32 %writes, 0
  %is_const = icmp eq i64 %writable, 0
  %forbidden = and i1 %is_write, %is_const
  br i1 %forbidden, label %fault_read_only, label %hit

; Of an array that is filled by pieces, the next guess is the piece, once it is filled.
hit:
  %filled_p = getelementptr i64, ptr %first_p, i64 3
  %filled = load i64, ptr %filled_p
  %is_whole = icmp eq i64 %filled, 0
  br i1 %is_whole, label %known, label %piece

piece:
  %number = lshr i64 %offset, $PIECE_SHIFT
  %flags = inttoptr i64 %filled to ptr
  %flag_p = getelementptr i8, ptr %flags, i64 %number
  %flag = load atomic i8, ptr %flag_p acquire, align 1
  %is_filled = icmp ne i8 %flag, 0
  br i1 %is_filled, label %piece_known, label %touch

touch:
  %touch_function = slot ptr TOUCH
  %untouched = call i32 %touch_function(ptr %ctx, i64 %address)
  %touch_failed = icmp ne i32 %untouched, 0
  br i1 %touch_failed, label %stop, label %piece_known

piece_known:
  %piece_offset = shl i64 %number, $PIECE_SHIFT
  %piece_first = add i64 %first, %piece_offset
  %piece_rest = sub i64 %size, %piece_offset
  %is_last = icmp ult i64 %piece_rest, $PIECE_BYTES
  %piece_size = select i1 %is_last, i64 %piece_rest, i64 $PIECE_BYTES
  br label %known

known:
  %known_first = phi i64 [ %first, %hit ], [ %piece_first, %piece_known ]
  %known_size = phi i64 [ %size, %hit ], [ %piece_size, %piece_known ]
  %g2 = mul i64 %instruction, 2
  %guess_p = getelementptr i64, ptr %guesses, i64 %g2
  store i64 %known_first, ptr %guess_p
  %guess_1 = getelementptr i64, ptr %guess_p, i64 1
  store i64 %known_size, ptr %guess_1
  %host = add i64 %address, %delta
  store i64 %host, ptr %host_p
  br label %lane_done

lane_done:
  br label %lane_head

fine:
  ret i32 0
fault_outside:
  br label %fault
fault_misaligned:
  br label %fault
fault_read_only:
  br label %fault
fault:
  %code = phi i64 [ $Fault.OUTSIDE, %fault_outside ], [ $Fault.MISALIGNED, %fault_misaligned ],
                  [ $Fault.READ_ONLY, %fault_read_only ]
  slot FAULT = %code
  slot FAULT_INSTRUCTION = %instruction
  %lane64 = zext i32 %l to i64
  slot FAULT_LANE = %lane64
  slot FAULT_ADDRESS = %address
  ret i32 1
stop:
  ret i32 1
}

; Notes the first of the lanes that access what they must not, and why.
define internal void @note_fault(ptr %ctx, <32 x i64> %addresses, i32 %bad, i64 %instruction,
                                 i64 %low_bits) noinline {
  %l = call i32 @llvm.cttz.i32(i32 %bad, i1 true)
  %address = extractelement <32 x i64> %addresses, i32 %l
  %low = and i64 %address, %low_bits
  %misaligned = icmp ne i64 %low, 0
  %fault = select i1 %misaligned, i64 $Fault.MISALIGNED, i64 $Fault.OUTSIDE
  %lane = zext i32 %l to i64
  slot FAULT = %fault
  slot FAULT_INSTRUCTION = %instruction
  slot FAULT_LANE = %lane
  slot FAULT_ADDRESS = %address
  ret void
}

; Logs an access whose lanes do not follow lane 0 as lane 1 does: as two halves where those from 16
; on follow lane 16 so, else address by address. Lane 17 tells most often that they do not. It is
; inlined where code is generated well: registers that live across a call would be saved before it.
define internal i64 @log_uneven(i64 %position, <32 x i64> %addresses, i32 %mask,
                                i64 %instruction) alwaysinline {
  %record = inttoptr i64 %position to ptr
  %lanes = zext i32 %mask to i64
  %ident = shl i64 %instruction, $ID_SHIFT
  %header = or i64 %lanes, %ident
  %behind = getelementptr i64, ptr %record, i64 1
  %first = extractelement <32 x i64> %addresses, i32 0
  %next = extractelement <32 x i64> %addresses, i32 1
  %stride = sub i64 %next, %first
  %second = extractelement <32 x i64> %addresses, i32 16
  %next_of_second = extractelement <32 x i64> %addresses, i32 17
  %stride_of_second = sub i64 %next_of_second, %second
  %may_be_halves = icmp eq i64 %stride, %stride_of_second
  br i1 %may_be_halves, label %likely, label %raw

likely:
  %of_stride = insertelement <32 x i64> poison, i64 %stride, i32 0
  %strides = shufflevector <32 x i64> %of_stride, <32 x i64> poison, <32 x i32> zeroinitializer
  %steps = mul <32 x i64> %strides, $LANES_OF_HALVES
  %of_lane_0 = sub <32 x i64> %addresses, %steps
  %of_their_first = shufflevector <32 x i64> %of_lane_0, <32 x i64> poison, <32 x i32> $FIRSTS_OF_HALVES
  %differ = icmp ne <32 x i64> %of_lane_0, %of_their_first
  %differing = bitcast <32 x i1> %differ to i32
  %wrong = and i32 %differing, %mask
  %are_halves = icmp eq i32 %wrong, 0
  br i1 %are_halves, label %halves, label %raw

halves:
  %header_of_halves = or i64 %header, $HALVES_HEADER
  store i64 %header_of_halves, ptr %record
  store i64 %first, ptr %behind
  %stride_p = getelementptr i64, ptr %record, i64 2
  store i64 %stride, ptr %stride_p
  %second_p = getelementptr i64, ptr %record, i64 3
  store i64 %second, ptr %second_p
  ret i64 $HALVES_BYTES

raw:
  %header_of_raw = or i64 %header, $ADDRESSES_HEADER
  store i64 %header_of_raw, ptr %record
  store <32 x i64> %addresses, ptr %behind, align 8
  ret i64 $ADDRESSES_BYTES
}
