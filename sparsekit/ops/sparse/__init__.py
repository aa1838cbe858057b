"""Operators of sparse arrays: conversion, products, embedding, and the sparse rule rows of other operators."""
